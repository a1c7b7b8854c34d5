//! The direction of imports: each module may import only from those to its left.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const LINE: [&str; 14] = [
    "table",
    "error",
    "metrics",
    "protocol",
    "connection",
    "endpoint",
    "topology",
    "policy",
    "config",
    "establish",
    "control",
    "pool",
    "session",
    "probe",
];

/// What the Alternator client may import; the layers are a crate of their own.
const ALTERNATOR: [&str; 5] = ["alternator", "error", "metrics", "endpoint", "config"];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// The modules that a source names after `crate::`, those in braces included.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), |mut all, line| {
            all.push_str(line.split("//").next().unwrap());
            all.push('\n');
            all
        });
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(inside) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut word = String::new();
            let mut first = true;
            for c in inside.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => first = true,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if depth == 1 && first && (c.is_alphanumeric() || c == '_') {
                    word.push(c);
                } else if !word.is_empty() {
                    found.insert(std::mem::take(&mut word));
                    first = c == ',';
                }
            }
            if !word.is_empty() {
                found.insert(word);
            }
        } else {
            found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

fn module_of(root: &Path, path: &Path) -> String {
    let first = path.strip_prefix(root).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// design 2: the modules of the driver stand in one line; only tests, examples and the command import the test kit.
#[test]
fn modules_import_only_from_their_left() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 40, "the sources were found");
    let mut wrong = Vec::new();
    for path in files {
        let module = module_of(&root, &path);
        let Some(place) = LINE.iter().position(|name| *name == module) else { continue };
        for import in imports(&fs::read_to_string(&path).unwrap()) {
            let allowed = import == module || LINE.iter().position(|name| *name == import).is_some_and(|i| i < place);
            if !allowed {
                wrong.push(format!("{} imports crate::{import}", path.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// design 2: the Alternator client imports nothing of the CQL side, and nothing imports it.
#[test]
fn alternator_stands_beside_the_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut seen = 0;
    let mut wrong = Vec::new();
    for path in files {
        let module = module_of(&root, &path);
        let own = module == "alternator";
        seen += usize::from(own);
        let text = fs::read_to_string(&path).unwrap();
        for import in imports(&text) {
            let allowed = if own { ALTERNATOR.contains(&import.as_str()) } else { import != "alternator" };
            if !allowed {
                wrong.push(format!("{} imports crate::{import}", path.strip_prefix(&root).unwrap().display()));
            }
        }
        if own && text.contains("scylla_cql_core") {
            wrong.push(format!("{} names the CQL crate", path.strip_prefix(&root).unwrap().display()));
        }
    }
    assert!(seen > 5, "its sources were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_seen_in_every_form() {
    let text =
        "use crate::a;\nuse crate::{b::{x, y}, c, d::z};\n// crate::comment\nfn f() { crate::e::g() }\n$crate::no";
    let found = imports(text);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
}
