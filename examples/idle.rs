//! What does an idle session cost?
//!
//! `cargo run --release --example idle -- 127.0.0.1:9042 60`: connects, asks one question, is idle for that many
//! seconds (60), and tells its memory, threads, connections and the CPU time of that while. Linux only, since it reads
//! `/proc`.

use std::{collections::HashSet, error::Error, fs, time::Duration};

use messina::Session;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(contact_point) = arguments.next() else {
        println!("usage: idle CONTACT_POINT [SECONDS]");
        return Ok(());
    };
    let idle = Duration::from_secs(arguments.next().map_or(Ok(60), |text| text.parse())?);
    let session = Session::builder().contact_point(contact_point).build().await?;
    let nodes =
        session.execute("SELECT host_id FROM system.peers_v2", ()).await?.all::<(uuid::Uuid,)>().await?.len() + 1;
    // Until every node has its connection.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = Process::read()?;
    tokio::time::sleep(idle).await;
    let after = Process::read()?;
    println!("nodes              {nodes}");
    println!("resident memory    {:.1} MiB, {:.1} of it anonymous", after.resident, after.anonymous);
    println!("threads            {}", after.threads);
    println!("TCP connections    {}", after.connections);
    println!("CPU time in {idle:?}  {} ms", (after.ticks - before.ticks) * 10);
    println!("times woken        {}", after.switches - before.switches);
    session.close().await;
    Ok(())
}

/// What the system knows of this process.
struct Process {
    resident: f64,
    anonymous: f64,
    threads: u64,
    switches: u64,
    /// Of 10 ms.
    ticks: u64,
    connections: usize,
}

impl Process {
    fn read() -> Result<Self, Box<dyn Error>> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |status: &str, name: &str| -> Result<u64, Box<dyn Error>> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let text =
                line.and_then(|line| line.split_whitespace().next()).ok_or("no such line in /proc/self/status")?;
            Ok(text.parse()?)
        };
        let mut switches = 0;
        for task in fs::read_dir("/proc/self/task")? {
            let status = fs::read_to_string(task?.path().join("status"))?;
            switches += number(&status, "voluntary_ctxt_switches")?;
        }
        let stat = fs::read_to_string("/proc/self/stat")?;
        // The name may hold spaces; it ends with the last parenthesis. User and system time are fields 14 and 15.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(Self {
            resident: number(&status, "VmRSS")? as f64 / 1024.0,
            anonymous: number(&status, "RssAnon")? as f64 / 1024.0,
            threads: number(&status, "Threads")?,
            switches,
            ticks,
            connections: connections()?,
        })
    }
}

/// Established TCP connections whose socket is ours.
fn connections() -> Result<usize, Box<dyn Error>> {
    let mut ours = HashSet::new();
    for file in fs::read_dir("/proc/self/fd")? {
        let Ok(link) = fs::read_link(file?.path()) else { continue };
        let link = link.to_string_lossy().into_owned();
        ours.extend(link.strip_prefix("socket:[").and_then(|link| link.strip_suffix(']')).map(str::to_owned));
    }
    let tables = fs::read_to_string("/proc/net/tcp")? + &fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    let established = tables.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    Ok(established
        .filter(|fields| fields.get(3) == Some(&"01") && fields.get(9).is_some_and(|i| ours.contains(*i)))
        .count())
}
