//! Cassandra's jars, fetched once with Maven and kept under `target/cassandra/jars`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::tools::{maven, run};

/// Where the harness keeps everything: jars, and the data of a run.
pub(crate) fn home() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp).join("cassandra")
}

/// Fetches the jars of one version, unless they are there.
///
/// The directory appears by one rename, so it is complete or absent, also while two runs fetch at once.
pub(crate) fn fetch(version: &str) -> Result<(), String> {
    let jars = directory(version);
    if jars.is_dir() {
        return Ok(());
    }
    let work = home().join("jars").join(format!("fetch-{version}-{}", std::process::id()));
    let said = |error: std::io::Error| format!("{}: {error}", work.display());
    fs::create_dir_all(&work).map_err(said)?;
    let pom = work.join("pom.xml");
    fs::write(&pom, pom_text(version)).map_err(said)?;
    let fetched = work.join("jars");
    let mut command = Command::new(maven()?);
    command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    command.arg(format!("-DoutputDirectory={}", fetched.display()));
    let output = run(command, Duration::from_secs(240))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        return Err(format!("Maven could not fetch cassandra-all {version}: {}", text.trim()));
    }
    // Lost the race: then the other run's directory is as good.
    let renamed = fs::rename(&fetched, &jars);
    let _ = fs::remove_dir_all(&work);
    if !jars.is_dir() {
        renamed.map_err(|error| format!("{}: {error}", jars.display()))?;
    }
    Ok(())
}

/// Where the jars of one version are.
pub(crate) fn directory(version: &str) -> PathBuf {
    home().join("jars").join(version)
}

/// The jar whose name begins with `name-` and a digit.
pub(crate) fn find(jars: &Path, name: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(jars).map_err(|error| format!("{}: {error}", jars.display()))?;
    let wanted = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    let jar = entries.filter_map(|entry| Some(entry.ok()?.path())).find(wanted);
    jar.ok_or_else(|| format!("no {name} jar in {}", jars.display()))
}

fn pom_text(version: &str) -> String {
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>messina</groupId><artifactId>cassandra-for-tests</artifactId><version>1</version>\n\
         <dependencies><dependency>\n\
         <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{version}</version>\n\
         </dependency></dependencies>\n\
         </project>\n"
    )
}
