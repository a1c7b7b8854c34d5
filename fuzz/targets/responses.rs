//! Answers of every kind in every dialect.
#![no_main]

#[path = "../checks/responses.rs"]
mod responses;

libfuzzer_sys::fuzz_target!(|data: &[u8]| responses::check(data));
