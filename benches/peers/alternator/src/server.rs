//! The nodes, in a process of their own.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

pub struct Server {
    child: Child,
    answers: BufReader<ChildStdout>,
    pub ips: Vec<String>,
    pub port: u16,
}

impl Server {
    /// Three nodes.
    pub fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the nodes start");
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        answers.read_line(&mut line).expect("the nodes tell their addresses");
        let mut words = line.split_whitespace();
        let port = words.next().and_then(|port| port.parse().ok()).expect("a port");
        let ips = words.map(str::to_owned).collect();
        Self { child, answers, ips, port }
    }

    pub fn url(&self, node: usize) -> String {
        format!("http://{}:{}", self.ips[node], self.port)
    }

    /// Tells the nodes something and waits until it is so.
    pub fn tell(&mut self, text: &str) -> String {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{text}").and_then(|()| stdin.flush()).expect("the nodes listen");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the nodes answer");
        line.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
