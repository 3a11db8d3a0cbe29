//! More listeners than the server takes: the surplus is told to come back, the others hear all.

use e2e::Promenade;

use crate::{Story, long_text, toy};

#[tokio::test]
async fn who_is_too_many_is_told_to_come_back() -> Story {
    let folder = std::env::temp_dir().join(format!("promenade-overload-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let config = folder.join("two-streams.toml");
    std::fs::write(&config, "[limits]\nstreams = 2\n")?;
    let server = Promenade::serve(&["toy", "--config", &config.to_string_lossy()]).await?;
    std::fs::remove_dir_all(&folder)?;
    let client = server.client();
    let whole = client
        .post("/v1/audio/speech", &toy(&long_text()))
        .await?
        .body
        .len();

    // Two who do not read on, so that their streams stay open.
    let mut first = client
        .stream("/v1/audio/speech", &toy(&long_text()))
        .await?;
    let mut second = client
        .stream("/v1/audio/speech", &toy(&long_text()))
        .await?;
    assert_eq!((first.status, second.status), (200, 200));

    let refused = client.post("/v1/audio/speech", &toy("One more.")).await?;
    assert_eq!(refused.status, 503);
    assert!(
        refused.headers.contains_key("retry-after"),
        "it says when to come back"
    );
    assert_eq!(refused.json()?["error"]["code"], "overloaded");

    for body in [&mut first, &mut second] {
        let mut heard = 0;
        while let Some(piece) = body.next().await? {
            heard += piece.len();
        }
        assert_eq!(heard, whole, "who was inside heard all");
    }
    assert_eq!(
        client
            .post("/v1/audio/speech", &toy("Now there is room."))
            .await?
            .status,
        200
    );
    Ok(())
}
