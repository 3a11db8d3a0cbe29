//! The `promenade` binary as a child process: started on a free loopback port, killed when dropped.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::Client;

/// How long a server may take to answer `/ready`. A development build on a busy machine loads the
/// voice in a few seconds; what takes longer is stuck.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(20);
const EXIT_WITHIN: Duration = Duration::from_secs(30);

/// Path of the binary under test: `PROMENADE_BIN`, or the one that lies beside the running test.
///
/// # Errors
/// If there is none; the message says how to build it.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PROMENADE_BIN") {
        return Ok(path.into());
    }
    let test = std::env::current_exe()?;
    let profile = test
        .ancestors()
        .nth(2)
        .context("a test lies in target/PROFILE/deps")?;
    let path = profile.join("promenade");
    if !path.exists() {
        bail!(
            "{} is not built: run `cargo build -p server`",
            path.display()
        );
    }
    Ok(path)
}

/// A running server.
pub struct Promenade {
    child: Child,
    address: String,
}

impl Promenade {
    /// Starts `promenade serve` with these arguments, and waits until `/ready` says 200.
    ///
    /// # Errors
    /// If it ends before that or does not get ready; the message holds what it printed.
    pub async fn serve(arguments: &[&str]) -> Result<Self> {
        let address = free_address().await?;
        let mut child = Command::new(binary()?)
            .arg("serve")
            .args(arguments)
            .args(["--listen", &address])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let log = child.stderr.take().context("a piped stderr")?;
        let mut server = Self { child, address };
        let ready = timeout(READY_WITHIN, server.wait_until_ready()).await;
        if !matches!(ready, Ok(Ok(()))) {
            drop(server.child.start_kill());
            let mut lines = BufReader::new(log).lines();
            let mut printed = String::new();
            while let Ok(Some(line)) = lines.next_line().await {
                printed.push_str(&line);
                printed.push('\n');
            }
            bail!("the server did not get ready; it printed:\n{printed}");
        }
        // Keep the pipe drained, so that the server never waits for its own log.
        tokio::spawn(async move {
            let mut lines = BufReader::new(log).lines();
            while let Ok(Some(_)) = lines.next_line().await {}
        });
        Ok(server)
    }

    /// `host:port` that it listens on.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A client of this server.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Asks it to end as an operator does (SIGTERM) without waiting.
    ///
    /// # Errors
    /// If the signal could not be sent.
    pub async fn terminate(&self) -> Result<()> {
        let id = self.child.id().context("the server has ended already")?;
        let sent = Command::new("kill")
            .args(["-TERM", &id.to_string()])
            .status()
            .await?;
        if !sent.success() {
            bail!("kill -TERM {id} failed");
        }
        Ok(())
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// If it is still there after 30 seconds.
    pub async fn ended(mut self) -> Result<ExitStatus> {
        Ok(timeout(EXIT_WITHIN, self.child.wait())
            .await
            .context("the server did not end")??)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let client = self.client();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            if let Ok(answer) = client.get("/ready").await
                && answer.status == 200
            {
                return Ok(());
            }
            sleep(ASK_EVERY).await;
        }
    }
}

/// A loopback address that was free a moment ago.
async fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")
        .await?
        .local_addr()?
        .to_string())
}
