//! An operator stops the server while somebody is listening: the listener hears the end.

use e2e::Promenade;

use crate::{Story, long_text, toy};

#[tokio::test]
async fn a_stream_in_the_air_is_finished_before_the_server_ends() -> Story {
    let server = Promenade::serve(&["toy"]).await?;
    let client = server.client();
    let whole = client
        .post("/v1/audio/speech", &toy(&long_text()))
        .await?
        .body
        .len();

    let mut body = client
        .stream("/v1/audio/speech", &toy(&long_text()))
        .await?;
    let mut heard = body.next().await?.expect("a first piece").len();
    server.terminate().await?;
    while let Some(piece) = body.next().await? {
        heard += piece.len();
    }
    assert_eq!(heard, whole, "every sample was heard");
    assert!(
        server.ended().await?.success(),
        "and the server says that all went well"
    );
    Ok(())
}
