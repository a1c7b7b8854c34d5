//! `messina probe --alternator`: what nodes of Alternator answer.

use std::process::ExitCode;

use messina::{
    alternator::{
        http::HttpOptions,
        node::{Node, Scheme},
        probe::{ProbeReport, ProbeSettings, probe},
    },
    layers::{Address, HickoryResolver, Name, SystemResolver, TlsConfig},
};

use crate::probe::{ProbeArgs, ResolverKind, usage};

pub(crate) async fn run(args: ProbeArgs) -> ExitCode {
    let (seeds, settings) = match read(&args) {
        Ok(read) => read,
        Err(problem) => return usage(&problem),
    };
    let report = probe(&seeds, &settings).await;
    print(&report, args.json);
    if report.works() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(report: &ProbeReport, json: bool) {
    match serde_json::to_string_pretty(report) {
        Ok(text) if json => say!(stdout, "{text}"),
        _ => say!(stdout, "{report}"),
    }
}

fn read(args: &ProbeArgs) -> Result<(Vec<Node>, ProbeSettings), String> {
    for (given, flag) in [
        (args.query.is_some(), "--query"),
        (args.user.is_some(), "--user"),
        (args.sni_proxy.is_some(), "--sni-proxy"),
        (args.protocol.is_some(), "--protocol"),
        (args.expect_cluster.is_some(), "--expect-cluster"),
    ] {
        if given {
            return Err(format!("`{flag}` is for CQL; leave it out with `--alternator`"));
        }
    }
    let tls = args.tls || args.tls_ca.is_some() || args.tls_cert.is_some() || !args.tls_name.is_empty();
    let seeds = args.contact_points.iter().map(|text| node(text, tls)).collect::<Result<Vec<_>, _>>()?;
    let mut http = HttpOptions::default().with_connect_timeout(args.timeout).with_tls_timeout(args.timeout);
    http = match (args.dns, args.resolver) {
        (Some(_), ResolverKind::System) => {
            return Err("`--dns` names a server, which `--resolver system` would not ask".into());
        }
        (Some(server), _) => http.with_resolver(HickoryResolver::with_server(server)),
        (None, ResolverKind::System) => http.with_resolver(SystemResolver::new()),
        (None, ResolverKind::Hickory) => http,
    };
    if seeds.iter().any(|seed| seed.scheme() == Scheme::Https) {
        http = http.with_tls(settings(args)?);
        for name in &args.tls_name {
            http = http.with_accepted_name(Name::new(name).map_err(|error| error.to_string())?);
        }
    }
    let settings = ProbeSettings::default().with_http(http).with_limit(args.timeout);
    Ok((seeds, settings.with_concurrency(args.concurrency.into())))
}

/// An URL, or a host with a port or without: then the port is that of ScyllaDB's examples.
fn node(text: &str, tls: bool) -> Result<Node, String> {
    let told = |error: messina::alternator::node::NodeError| messina::layers::error::chain(&error).to_string();
    if text.contains("://") {
        return Node::from_seed(text).map_err(told);
    }
    if text.contains(['@', '/', '?', '#']) {
        // Nothing of that belongs there: what it is, is told as of an URL.
        return Node::from_seed(&format!("http://{text}")).map_err(told);
    }
    let (scheme, port) = if tls { (Scheme::Https, 8043) } else { (Scheme::Http, 8000) };
    Ok(Node::new(scheme, Address::parse(text, port).map_err(|error| error.to_string())?))
}

/// Trusts the given authorities, or else those of the operating system.
fn settings(args: &ProbeArgs) -> Result<TlsConfig, String> {
    let file = |path: &std::path::PathBuf| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let told = |error: messina::layers::TlsConfigError| messina::layers::error::chain(&error).to_string();
    let builder = match &args.tls_ca {
        Some(ca) => TlsConfig::builder().ca_pem(&file(ca)?),
        None => TlsConfig::builder().native_roots(),
    };
    let builder = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => builder.map_err(told)?.client_pem(&file(cert)?, &file(key)?),
        _ => builder,
    };
    builder.map_err(told)?.build().map_err(told)
}
