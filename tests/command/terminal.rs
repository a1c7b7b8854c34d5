//! What a terminal and a full disk do to a run.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::Stdio,
    time::Duration,
};

use messina::testkit::{Cluster, Log};
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};

use tokio::{
    process::Command,
    time::{Instant, timeout},
};

use crate::support::{all_closed, cluster};

const LIMIT: Duration = Duration::from_secs(20);

/// Exit code and output of `messina probe --user ada` at a terminal where `typed` is typed at the prompt.
async fn prompted(addr: &str, typed: &[u8]) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let end = || Stdio::from(OwnedFd::from(terminal.try_clone().unwrap()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_messina"))
        .args(["probe", addr, "--user", "ada"])
        .stdin(end())
        .stdout(Stdio::null())
        .stderr(end())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    while !seen.contains("Password of ada: ") {
        let read = master.read(&mut buffer).unwrap();
        seen.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    // The terminal forgets what is typed before its echo is off.
    let until = Instant::now() + LIMIT;
    while tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO) {
        assert!(Instant::now() < until, "the echo stays on");
        tokio::task::yield_now().await;
    }
    master.write_all(typed).unwrap();
    let ended = timeout(LIMIT, child.wait()).await.unwrap().unwrap();
    assert!(tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO), "the echo is on again");
    drop((child, terminal));
    // Ends with an error once nobody holds the other end.
    while let Ok(read @ 1..) = master.read(&mut buffer) {
        seen.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    (ended.code().unwrap(), seen)
}

/// driver 7.9: at the prompt Ctrl-C, Ctrl-\ and Ctrl-D cancel, nothing is dialled, and the terminal has its echo again.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_cancelled() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    let addr = nodes.node(0).addr().to_string();
    for typed in [&b"\x03"[..], b"secret\x03", b"\x1c", b"\x04"] {
        let (code, seen) = prompted(&addr, typed).await;
        assert_eq!(code, 130, "{typed:?}: {seen}");
        assert!(seen.contains("cancelled") && !seen.contains("secret"), "{typed:?}: {seen}");
    }
    assert_eq!(log.now().opened(), 0, "nothing was dialled");
}

/// driver 7.9: what is typed at the prompt is the password, with what was corrected left out, and is never shown.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_answered() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder().user("ada", "gr\u{fc}n"), &log).await;
    let addr = nodes.node(0).addr().to_string();
    for (typed, expected) in [("gr\u{fc}n\n", 0), ("no\x15gr\u{f6}\x7f\u{fc}n\n", 0), ("blue\n", 1)] {
        let (code, seen) = prompted(&addr, typed.as_bytes()).await;
        assert_eq!(code, expected, "{typed:?}: {seen}");
        assert!(!seen.contains('n') || !seen.contains("gr"), "{typed:?}: {seen}");
    }
    all_closed(&log).await;
}

/// driver 7.9: output that could not be written is exit code 1; a reader that goes away is none.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn lost_output() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    let addr = nodes.node(0).addr().to_string();
    let run = |to: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_messina"));
        command.args(["probe", &addr]).stdin(Stdio::null()).stderr(Stdio::piped()).stdout(to).spawn().unwrap()
    };
    let full = run(File::options().write(true).open("/dev/full").unwrap().into()).wait_with_output().await.unwrap();
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    assert!(String::from_utf8_lossy(&full.stderr).contains("could not be written"), "{full:?}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let gone = run(writer.into()).wait_with_output().await.unwrap();
    assert_eq!((gone.status.code(), gone.stderr.len()), (Some(0), 0), "{gone:?}");
}
