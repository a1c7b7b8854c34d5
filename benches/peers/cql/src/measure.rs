//! Runs clients one after the other, and prints the table.

use std::process::Command;

/// In the order of the columns.
const DRIVERS: [&str; 3] = ["messina", "scylla", "cdrs"];

/// Rounds of which the median is told; the drivers take turns within each.
const ROUNDS: usize = 7;

const CALLGRIND: Tool = (&["--tool=callgrind", "--callgrind-out-file=/dev/null"], "Collected :");
const MEMCHECK: Tool = (&["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"], "total heap usage:");

/// A tool of valgrind: its options, and the mark before its number.
type Tool = (&'static [&'static str], &'static str);

/// The whole table, or the parts that are named.
pub fn all(at: &str, parts: &[&str]) {
    let wanted = |part| parts.is_empty() || parts.contains(&part);
    println!("{:<44}{:>12}{:>12}{:>12}{:>10}{:>10}", "", "messina", "scylla", "cdrs", "/ scylla", "/ best");
    if wanted("counts") {
        counts(at);
    }
    if wanted("times") {
        times(at);
    }
    if wanted("offered") {
        offered(at, capacity(at) * 0.7);
    }
    if wanted("idle") {
        idle(at);
    }
}

/// Runs this program with other arguments, and gives what it prints.
pub fn own(arguments: &[&str]) -> String {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    let run = program.args(arguments).output().expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn row(name: &str, numbers: [f64; 3]) {
    let [messina, scylla, cdrs] = numbers;
    let show = |number: f64| if number < 100.0 { format!("{number:.2}") } else { format!("{number:.0}") };
    println!(
        "{name:<44}{:>12}{:>12}{:>12}{:>10.2}{:>10.2}",
        show(messina),
        show(scylla),
        show(cdrs),
        messina / scylla,
        messina / scylla.min(cdrs)
    );
}

/// Instructions and allocations, which are the same in every run but for about 1 %.
fn counts(at: &str) {
    let requests = [("point", "64"), ("point", "1"), ("insert", "64"), ("insert", "1"), ("point", "512")];
    for (load, workers) in requests {
        let name = format!("instructions of a request: {load}, {workers} at a time");
        row(&name, DRIVERS.map(|driver| per_request([driver, at, load, workers], [10_240, 30_720], CALLGRIND)));
    }
    for load in ["point", "insert"] {
        let name = format!("allocations of a request: {load}");
        row(&name, DRIVERS.map(|driver| per_request([driver, at, load, "64"], [10_240, 30_720], MEMCHECK)));
    }
    for (load, how) in [("scan", "owned"), ("borrowed", "borrowed")] {
        let each = |tool| DRIVERS.map(|driver| per_request([driver, at, load, "1"], [1, 2], tool) / 100_000.0);
        row(&format!("instructions of a scanned row, {how}"), each(CALLGRIND));
        row(&format!("allocations of a scanned row, {how}"), each(MEMCHECK));
    }
}

/// The difference of a short and a long run, by the request.
fn per_request(how: [&str; 4], lengths: [u64; 2], tool: Tool) -> f64 {
    let [short, long] = lengths.map(|requests| counted(how, requests, tool));
    (long - short) / (lengths[1] - lengths[0]) as f64
}

fn counted([driver, at, load, workers]: [&str; 4], requests: u64, (options, mark): Tool) -> f64 {
    let run = Command::new("valgrind")
        .args(options)
        .arg(std::env::current_exe().expect("this program"))
        .args(["client", driver, at, "count", load, workers, &requests.to_string()])
        .output()
        .expect("valgrind is installed");
    let report = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{report}");
    let line = report.lines().rfind(|line| line.contains(mark)).expect("the tool's line");
    let number = line.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next()).expect("a number");
    number.replace(',', "").parse().expect("a number")
}

/// Medians of the numbers that runs of each driver print, the drivers taking turns.
fn medians<const N: usize>(at: &str, rounds: usize, how: &[&str]) -> [[f64; N]; 3] {
    let mut all: [Vec<[f64; N]>; 3] = Default::default();
    for _ in 0..rounds {
        for (driver, runs) in DRIVERS.iter().zip(&mut all) {
            let told = own(&[&["client", driver, at], how].concat());
            let mut numbers = told.split_whitespace().map(|word| word.parse().expect("a number"));
            runs.push(std::array::from_fn(|_| numbers.next().expect("as many")));
        }
    }
    all.map(|runs| {
        std::array::from_fn(|place| {
            let mut numbers: Vec<f64> = runs.iter().map(|run| run[place]).collect();
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        })
    })
}

/// Processor time, throughput and latencies, each worker with one request after the other.
fn times(at: &str) {
    for load in ["point", "insert"] {
        for (workers, requests) in [("1", "20000"), ("64", "200000"), ("512", "200192")] {
            let numbers = medians::<5>(at, ROUNDS, &["closed", load, workers, requests]);
            let of = |place: usize| numbers.map(|numbers| numbers[place]);
            let told = ["processor, us", "requests a second", "p50, us", "p99, us", "p99.9, us"];
            for (place, told) in told.into_iter().enumerate() {
                row(&format!("{load}, {workers} at a time: {told}"), of(place));
            }
        }
    }
    for (load, how) in [("scan", "owned"), ("borrowed", "borrowed")] {
        let numbers = medians::<1>(at, ROUNDS, &["closed", load, "1", "10"]);
        row(&format!("processor of 1,000 scanned rows, us, {how}"), numbers.map(|[each]| each / 100.0));
    }
}

/// The most reads a second that `scylla` keeps up with when they come by the clock: half of them within ten milliseconds.
fn capacity(at: &str) -> f64 {
    let mut rate = 40_000.0_f64;
    loop {
        let told = own(&["client", "scylla", at, "offered", &format!("{rate:.0}"), "2"]);
        let median: f64 = told.split_whitespace().next().expect("a number").parse().expect("a number");
        if median > 10_000.0 {
            return rate / 1.1;
        }
        rate *= 1.1;
    }
}

/// Latencies while requests come at the same rate for each.
fn offered(at: &str, rate: f64) {
    let numbers = medians::<3>(at, ROUNDS, &["offered", &format!("{rate:.0}"), "3"]);
    for (place, told) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        row(&format!("{rate:.0} reads offered a second: {told}, us"), numbers.map(|numbers| numbers[place]));
    }
}

/// Memory of a connection that is not used any more.
fn idle(at: &str) {
    const MANY: u64 = 200;
    let [few, many] = [1, 1 + MANY].map(|connections| medians::<1>(at, 1, &["idle", &connections.to_string()]));
    let each = std::array::from_fn(|driver| (many[driver][0] - few[driver][0]) / MANY as f64);
    row("resident memory of an idle connection, KiB", each);
}
