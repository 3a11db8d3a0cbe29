//! A hundred listeners leave in the middle of their streams: nothing of them stays behind.

use std::time::Duration;

use e2e::{Metrics, Promenade};

use crate::{AT_REST, Story, long_text, toy};

const LISTENERS: usize = 100;

#[tokio::test]
async fn a_hundred_who_leave_leave_nothing_behind() -> Story {
    let server = Promenade::serve(&["toy"]).await?;
    let client = server.client();
    let before = Metrics::of(&client)
        .await?
        .sum("promenade_streams_total")
        .unwrap_or(0.0);
    for _ in 0..LISTENERS {
        let mut body = client
            .stream("/v1/audio/speech", &toy(&long_text()))
            .await?;
        assert_eq!(body.status, 200);
        assert!(body.next().await?.is_some(), "audio came before they left");
    }
    Metrics::at_rest(&client, AT_REST, Duration::from_secs(20)).await?;
    let after = Metrics::of(&client)
        .await?
        .sum("promenade_streams_total")
        .expect("a counter of streams");
    assert!(
        (after - before - 100.0).abs() < 0.5,
        "each stream is counted once: {before} then {after}"
    );
    // And the next one is served as ever.
    let next = client.post("/v1/audio/speech", &toy("Still here.")).await?;
    assert_eq!(next.status, 200);
    assert!(!next.body.is_empty());
    Ok(())
}
