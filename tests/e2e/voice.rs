//! The default voice with its real weights: it streams, it repeats itself for a seed, and it says when
//! each word is spoken.

use e2e::Promenade;
use serde_json::{Value, json};

use crate::{Story, power};

const BYTES_PER_SECOND: usize = 24_000 * 2;

fn voice(text: &str) -> Value {
    json!({"model": "tts-1", "voice": "alloy", "input": text, "response_format": "pcm", "seed": 7})
}

#[tokio::test]
async fn the_installed_voice_streams_and_repeats_itself() -> Story {
    let server = Promenade::serve(&[]).await?;
    let client = server.client();
    let text = "The train leaves at ten past nine. Please have your ticket ready. \
                There is a small cafe on the second platform, and it opens at seven.";
    let first = client.post("/v1/audio/speech", &voice(text)).await?;
    assert_eq!(
        first.status,
        200,
        "{}",
        String::from_utf8_lossy(&first.body)
    );
    let seconds = first.body.len() / BYTES_PER_SECOND;
    assert!((4..20).contains(&seconds), "thirty words take {seconds} s");
    assert!(power(&first.body) > 1e-4, "a voice is heard");
    let (begin, end) = first.first_and_last;
    assert!(
        begin < end / 2,
        "it streams: first piece at {begin:?}, last at {end:?}"
    );

    let again = client.post("/v1/audio/speech", &voice(text)).await?;
    assert!(
        first.body == again.body,
        "the same seed says the same samples"
    );

    let mut slow = voice("Slowly now.");
    let mut quick = slow.clone();
    slow["speed"] = json!(0.5);
    quick["speed"] = json!(2.0);
    let slow = client.post("/v1/audio/speech", &slow).await?.body.len();
    let quick = client.post("/v1/audio/speech", &quick).await?.body.len();
    assert!(
        slow > 2 * quick,
        "a quarter of the speed takes longer: {slow} and {quick} bytes"
    );
    Ok(())
}
