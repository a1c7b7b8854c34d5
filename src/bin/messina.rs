//! The `messina` command.

fn main() {}
