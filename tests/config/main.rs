//! Settings: what is refused, and in which words.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod checks;
mod contact_points;
#[allow(dead_code, reason = "not every binary looks at everything")]
#[path = "../establish/support/events.rs"]
mod events;
#[path = "../establish/support/files.rs"]
mod files;
mod from_file;
mod keys;
mod misled;
mod reconfigure;
mod secrets;
mod takes_effect;
mod tls_files;
mod values;

use messina::{Session, config::Config, error::ConfigError, session::SessionBuilder};

/// Settings that lack nothing.
fn good() -> SessionBuilder {
    Session::builder().contact_point("db.test")
}

/// What is refused, after all of it was found to be named in the one line of a build's error.
async fn refused(builder: SessionBuilder) -> ConfigError {
    let error = builder.check().unwrap_err();
    let built = builder.build().await.unwrap_err();
    assert_eq!(built.kind(), messina::error::Kind::Config);
    assert_eq!(built.find::<ConfigError>(), Some(&error), "typed, not only text");
    let line = built.to_string();
    assert!(!line.contains('\n'), "{line}");
    let own = error.to_string();
    let unknown = own.starts_with("there is no option");
    let value = if unknown { String::new() } else { format!("{:?}", error.value()) };
    for part in [error.option(), &value, error.allowed()] {
        assert!(own.contains(part), "{part:?} is not in {own:?}");
    }
    // A text of any length is cut there.
    assert!(line.contains(&messina::layers::error::chain(&error).to_string()), "{own:?} is not in {line:?}");
    assert!(!error.option().is_empty() && !error.allowed().is_empty());
    error
}

fn checked(builder: &SessionBuilder) -> Config {
    builder.check().unwrap()
}
