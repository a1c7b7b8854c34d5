//! What has to be installed: Java 17 and Maven, and a system with more than one loopback address.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The Java that Cassandra 5.0 is made for.
const JAVA: &str = "17";

/// The programs the harness runs.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) java: PathBuf,
}

/// True when missing tools are a failure and no reason to skip.
pub(crate) fn required() -> bool {
    std::env::var_os("MESSINA_REQUIRE_CASSANDRA").is_some_and(|value| value == "1")
}

/// Finds the tools, or says in one sentence what is missing.
pub(crate) fn find() -> Result<Tools, String> {
    if !cfg!(unix) {
        return Err("the harness needs a Unix shell".to_owned());
    }
    TcpListener::bind((Ipv4Addr::new(127, 93, 1, 2), 0))
        .map_err(|error| format!("only 127.0.0.1 is a loopback address here ({error})"))?;
    let java = match std::env::var_os("JAVA_HOME") {
        Some(home) => PathBuf::from(home).join("bin/java"),
        None => PathBuf::from("java"),
    };
    let output = Command::new(&java)
        .arg("-version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("no Java {JAVA}: `{}` does not start ({error})", java.display()))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.split('"').nth(1).unwrap_or("unknown");
    if version.split('.').next() != Some(JAVA) {
        return Err(format!("no Java {JAVA}: `{}` is version {version} (set JAVA_HOME)", java.display()));
    }
    Ok(Tools { java })
}

/// Finds Maven, which is needed until the jars are there.
pub(crate) fn maven() -> Result<PathBuf, String> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|directory| directory.join("mvn"))
        .find(|file| file.is_file())
        .ok_or_else(|| "no Maven: `mvn` is not on the PATH".to_owned())
}

/// Runs a command to its end, at most for `limit`; after that it is killed.
pub(crate) fn run(command: Command, limit: Duration) -> Result<Output, String> {
    let text = format!("{command:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let mut command = tokio::process::Command::from(command);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
        match tokio::time::timeout(limit, output).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(format!("{text}: {error}")),
            Err(_) => Err(format!("{text}: not done after {limit:?}")),
        }
    })
}
