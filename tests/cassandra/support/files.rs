//! The configuration of a node and the command that starts it.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::jars;
use super::network::Network;
use super::pki::Pki;
use super::spec::{Spec, Tls};
use super::tools::Tools;

/// Only what a small node of a few seconds needs: a small heap, the quick compiler, no pauses for safety.
const JVM: &[&str] = &[
    "-Xms256m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dcassandra.ring_delay_ms=1000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.consistent.rangemovement=false",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra.skip_schema_check=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dcassandra-foreground=yes",
];

const EXPORTS: &[&str] = &[
    "java.base/jdk.internal.misc",
    "java.base/java.lang.ref",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.attach/sun.tools.attach",
];

const OPENS: &[&str] = &[
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
    "jdk.compiler/com.sun.tools.javac",
];

/// Virtual nodes of each node.
const TOKENS: usize = 16;

const LOGBACK: &str = r#"<configuration>
<appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%-5level [%thread] %date{ISO8601} %logger{0} - %msg%n</pattern></encoder>
</appender>
<root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"#;

/// Where a node stands in its cluster.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) index: usize,
    pub(crate) address: Ipv4Addr,
    /// What clients are told, where that is another address.
    pub(crate) front: Option<Ipv4Addr>,
    pub(crate) seeds: &'a [Ipv4Addr],
    pub(crate) directory: &'a Path,
}

/// Writes a node's configuration.
pub(crate) fn write(place: &Place<'_>, pki: &Pki) -> Result<(), String> {
    let conf = place.directory.join("conf");
    let (dc, rack) = place.spec.nodes[place.index];
    let files = [
        ("cassandra.yaml", yaml(place, pki)?),
        ("cassandra-rackdc.properties", format!("dc={dc}\nrack={rack}\n")),
        ("logback.xml", LOGBACK.to_owned()),
        (OPTIONS, String::new()),
    ];
    fs::create_dir_all(&conf).map_err(|error| format!("{}: {error}", conf.display()))?;
    for (name, text) in files {
        fs::write(conf.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn yaml(place: &Place<'_>, pki: &Pki) -> Result<String, String> {
    let spec = place.spec;
    let data = place.directory.display();
    let address = place.address;
    let ports = Network::ports();
    let seeds: Vec<String> = place.seeds.iter().map(|seed| format!("{seed}:{}", ports.storage)).collect();
    let (authenticator, authorizer) = match spec.passwords {
        true => ("PasswordAuthenticator", "CassandraAuthorizer"),
        false => ("AllowAllAuthenticator", "AllowAllAuthorizer"),
    };
    let mut text = format!(
        "cluster_name: {name}\n\
         num_tokens: {TOKENS}\n\
         initial_token: \"{tokens}\"\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         data_file_directories: [\"{data}/data\"]\n\
         commitlog_directory: \"{data}/commitlog\"\n\
         saved_caches_directory: \"{data}/caches\"\n\
         hints_directory: \"{data}/hints\"\n\
         cdc_raw_directory: \"{data}/cdc\"\n\
         commitlog_sync: periodic\n\
         commitlog_sync_period: 10000ms\n\
         commitlog_segment_size: 4MiB\n\
         endpoint_snitch: GossipingPropertyFileSnitch\n\
         listen_address: {address}\n\
         rpc_address: {address}\n\
         storage_port: {storage}\n\
         native_transport_port: {native}\n\
         start_native_transport: true\n\
         native_transport_allow_older_protocols: {older}\n\
         seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    \
         parameters: [{{seeds: \"{seeds}\"}}]\n\
         authenticator: {authenticator}\n\
         authorizer: {authorizer}\n\
         auto_snapshot: false\n\
         memtable_heap_space: 64MiB\n\
         memtable_offheap_space: 64MiB\n\
         user_defined_functions_enabled: true\n\
         materialized_views_enabled: true\n",
        name = spec.name,
        storage = ports.storage,
        native = ports.native,
        older = !spec.newest_protocol_only,
        seeds = seeds.join(","),
        tokens = tokens(place.index, spec.nodes.len()).join(","),
    );
    if let Some(front) = place.front {
        let _ = writeln!(text, "broadcast_rpc_address: {front}");
    }
    if let Tls::Server(name) | Tls::Mutual(name) = spec.tls {
        let keystore = pki.server(name)?;
        let mutual = matches!(spec.tls, Tls::Mutual(_));
        let _ = write!(
            text,
            "client_encryption_options:\n  \
             enabled: true\n  \
             optional: false\n  \
             keystore: \"{}\"\n  \
             truststore: \"{}\"\n  \
             require_client_auth: {mutual}\n  \
             ssl_context_factory:\n    \
             class_name: org.apache.cassandra.security.PEMBasedSslContextFactory\n",
            keystore.display(),
            pki.ca.display(),
        );
    }
    Ok(text)
}

/// Every n-th of evenly spread tokens. Given, because nodes that start at once may choose the same ones.
pub(crate) fn tokens(index: usize, nodes: usize) -> Vec<String> {
    let step = (1_i128 << 64) / (TOKENS * nodes) as i128;
    let token = |number: usize| i128::from(i64::MIN) + 1 + step * (number * nodes + index) as i128;
    (0..TOKENS).map(|number| token(number).to_string()).collect()
}

/// Options of the next start alone.
const OPTIONS: &str = "options";

/// Sets options for the next start of a node, until its configuration is written again.
pub(crate) fn options(directory: &Path, options: &[&str]) -> Result<(), String> {
    let file = directory.join("conf").join(OPTIONS);
    fs::write(&file, options.join("\n")).map_err(|error| format!("{}: {error}", file.display()))
}

/// Removes all that a node knows.
pub(crate) fn wipe(directory: &Path) -> Result<(), String> {
    let kept = |path: &PathBuf| path.file_name().is_some_and(|name| name == "conf");
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| !kept(path)) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The command that gives a node an order of an operator.
pub(crate) fn nodetool(tools: &Tools, jars: &Path, directory: &Path, port: u16, order: &[&str]) -> Command {
    let mut java = java(tools);
    // It keeps a history in the home directory.
    java.arg(format!("-Duser.home={}", directory.display())).arg("-XX:TieredStopAtLevel=1");
    java.arg("-cp").arg(format!("{}:{}/*", directory.join("conf").display(), jars.display()));
    java.args(["org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", &port.to_string()]).args(order);
    java
}

fn java(tools: &Tools) -> Command {
    let mut java = Command::new(&tools.java);
    for (option, packages) in [("--add-exports", EXPORTS), ("--add-opens", OPENS)] {
        java.args(packages.iter().map(|package| format!("{option}={package}=ALL-UNNAMED")));
    }
    java
}

/// The command that runs a node in the foreground; one that is managed listens to an operator on `jmx`.
pub(crate) fn command(tools: &Tools, jars: &Path, directory: &Path, jmx: Option<u16>) -> Result<Command, String> {
    let conf = directory.join("conf");
    let mut java = java(tools);
    java.args(JVM).arg(format!("@{}", conf.join(OPTIONS).display()));
    match jmx {
        Some(port) => java.arg(format!("-Dcassandra.jmx.local.port={port}")),
        // Quicker, but one that is killed has lost its schema.
        None => java.arg("-Dcassandra.unsafesystem=true"),
    };
    java.arg(format!("-javaagent:{}", jars::find(jars, "jamm")?.display()));
    let url = format!("file://{}", conf.display()).replace(' ', "%20");
    java.arg(format!("-Dcassandra.config={url}/cassandra.yaml"));
    java.arg(format!("-Dcassandra.storagedir={}", directory.display()));
    java.arg(format!("-Dlogback.configurationFile={url}/logback.xml"));
    java.arg("-cp").arg(format!("{}:{}/*", conf.display(), jars.display()));
    java.arg("org.apache.cassandra.service.CassandraDaemon");
    Ok(java)
}
