//! Values of any type: what is read is read without harm, and can be sent again.
#![no_main]

#[path = "../checks/values.rs"]
mod values;

libfuzzer_sys::fuzz_target!(|data: &[u8]| values::check(data));
