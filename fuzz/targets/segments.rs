//! Streams of segments and of bare envelopes, with checksums that are right or not.
#![no_main]

#[path = "../checks/segments.rs"]
mod segments;

libfuzzer_sys::fuzz_target!(|data: &[u8]| segments::check(data));
