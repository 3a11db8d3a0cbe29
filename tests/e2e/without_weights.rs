//! A newcomer starts the server before installing a voice: it says what to run.

use anyhow::Result;
use tokio::process::Command;

use crate::Story;

async fn run_without_weights(arguments: &[&str]) -> Result<(bool, String)> {
    let empty = std::env::temp_dir().join(format!("promenade-empty-{}", std::process::id()));
    std::fs::create_dir_all(&empty)?;
    let output = Command::new(std::path::absolute(e2e::binary()?)?)
        .args(arguments)
        .current_dir(&empty)
        .env("PROMENADE_CACHE", &empty)
        .output()
        .await?;
    assert!(!empty.join("out.wav").exists(), "a file was left behind");
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    Ok((output.status.success(), said))
}

#[tokio::test]
async fn the_program_says_how_to_get_a_voice() -> Story {
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"] as &[&str],
        &["speak", "Hello."],
    ] {
        let (success, said) = run_without_weights(arguments).await?;
        assert!(!success, "{arguments:?} cannot succeed: {said}");
        assert!(
            said.contains("promenade models install"),
            "{arguments:?} said: {said}"
        );
    }
    Ok(())
}
