//! `messina probe`: every address of every contact point, through every step.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, ValueEnum};
use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use messina::{
    ProtocolVersion, Session,
    endpoint::{ContactPoint, DEFAULT_SNI_PORT, SniProxy},
    layers::{Address, HickoryResolver, Name, SystemResolver},
    probe::{Probe, Report},
    session::SessionBuilder,
};

use crate::secret;

/// Nothing was probed: the command cannot be carried out as it was given.
pub(crate) const USAGE: u8 = 2;

/// Ctrl-C at the prompt, as shells number it.
const CANCELLED: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Where to look: `host`, `host:port` or `[ipv6]:port`; the port is 9042 unless given
    #[arg(required = true, value_name = "CONTACT_POINT")]
    pub(crate) contact_points: Vec<String>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask this DNS server, and no hosts file
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) dns: Option<SocketAddr>,
    /// Who turns names into addresses
    #[arg(long, value_enum, default_value_t = ResolverKind::Hickory)]
    pub(crate) resolver: ResolverKind,
    /// Log in as this user; the password comes from `--password-env`, or is asked for
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The environment variable that holds the password
    #[arg(long, value_name = "VAR", requires = "user")]
    pub(crate) password_env: Option<String>,
    /// Encrypt; every other `--tls-..` option and `--sni-proxy` imply it
    #[arg(long)]
    pub(crate) tls: bool,
    /// Trust the certificates of this PEM file, in place of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Show this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept certificates for this name, in place of the name or address that is dialled; several are allowed
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_name: Vec<String>,
    /// Reach the contact points through this SNI proxy (port 443): each is then a name that the proxy knows
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) sni_proxy: Option<String>,
    /// Accept this cluster only
    #[arg(long, value_name = "NAME")]
    pub(crate) expect_cluster: Option<String>,
    /// Speak this protocol version only
    #[arg(long, value_name = "3|4|5")]
    pub(crate) protocol: Option<ProtocolVersion>,
    /// Limit each step: lookup, dial, TLS, and every question after them
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// Try so many addresses at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrency: u16,
    /// Execute this statement on the first address that works, and print the rows
    #[arg(long, value_name = "CQL", value_parser = statement)]
    pub(crate) query: Option<String>,
    /// Probe nodes of Alternator over HTTP instead
    #[arg(long)]
    pub(crate) alternator: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResolverKind {
    /// getaddrinfo: hosts file, DNS, mDNS, whatever nsswitch names
    System,
    /// Hosts file and DNS
    Hickory,
}

pub(crate) async fn run(args: ProbeArgs) -> ExitCode {
    if !args.alternator && args.contact_points.iter().any(|text| text.contains('@')) {
        // Not printed: it may hold a password.
        return usage("a contact point is `host`, `host:port` or `[ipv6]:port`; the user is given with `--user`");
    }
    if args.alternator {
        return crate::alternator_probe::run(args).await;
    }
    let settings = match settings(&args) {
        Ok(settings) => settings,
        Err(problem) => return usage(&problem),
    };
    let settings = match &args.user {
        None => settings,
        Some(user) => match password(user, args.password_env.as_deref()) {
            Ok(Some(password)) => settings.credentials(user, password),
            Ok(None) => {
                say!(stderr, "cancelled: no password was given");
                return ExitCode::from(CANCELLED);
            }
            Err(problem) => return usage(&problem),
        },
    };
    let (bar, progress) = progress();
    let mut probe = Probe::new(settings).with_concurrency(args.concurrency.into()).with_progress(progress);
    if let Some(cql) = &args.query {
        probe = probe.with_query(cql);
    }
    let result = probe.run().await;
    bar.finish_and_clear();
    match result {
        Ok(report) => {
            print(&report, args.json);
            let asked = report.query.as_ref().is_none_or(|query| query.addr.is_none() || query.error.is_none());
            if report.works() && asked { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => usage(&error.to_string()),
    }
}

fn print(report: &Report, json: bool) {
    if !json {
        say!(stdout, "{report}");
        return;
    }
    match serde_json::to_string_pretty(report) {
        Ok(text) => say!(stdout, "{text}"),
        Err(error) => say!(stderr, "error: the report cannot be written as JSON: {error}"),
    }
}

/// Something about the command line is wrong.
pub(crate) fn usage(problem: &str) -> ExitCode {
    say!(stderr, "error: {problem}\n\nFor more information, try 'messina probe --help'.");
    ExitCode::from(USAGE)
}

fn settings(args: &ProbeArgs) -> Result<SessionBuilder, String> {
    if args.dns.is_some() && args.resolver == ResolverKind::System {
        return Err(
            "`--dns` names a server to ask, which `--resolver system` would not do; leave one of them out".into()
        );
    }
    let mut settings = contact_points(args)?
        .resolve_timeout(args.timeout)
        .connect_timeout(args.timeout)
        .tls_timeout(args.timeout)
        .init_timeout(args.timeout)
        .request_timeout(args.timeout);
    settings = match (args.resolver, args.dns) {
        (ResolverKind::System, _) => settings.resolver(SystemResolver::new()),
        (ResolverKind::Hickory, Some(server)) => settings.resolver(HickoryResolver::with_server(server)),
        (ResolverKind::Hickory, None) => settings.resolver(HickoryResolver::new()),
    };
    if let Some(cluster) = &args.expect_cluster {
        settings = settings.expected_cluster(cluster);
    }
    if let Some(version) = args.protocol {
        settings = settings.protocol_version(version);
    }
    Ok(tls(args, settings))
}

fn contact_points(args: &ProbeArgs) -> Result<SessionBuilder, String> {
    let Some(proxy) = &args.sni_proxy else { return Ok(Session::builder().contact_points(&args.contact_points)) };
    let proxy = Address::parse(proxy, DEFAULT_SNI_PORT).map_err(|error| format!("`--sni-proxy`: {error}"))?;
    args.contact_points.iter().try_fold(Session::builder(), |settings, text| {
        // What the proxy is asked for is a name and nothing else.
        let name = Name::new(text).map_err(|_| {
            format!(
                "behind an SNI proxy a contact point is a name that the proxy is asked for: a host id or a DNS name, \
                 without a port; {text:?} is none"
            )
        })?;
        let proxy = SniProxy::new(proxy.clone(), name).map_err(|error| error.to_string())?;
        let endpoints = proxy.bootstrap().into_iter().map(ContactPoint::from_endpoint);
        Ok(endpoints.fold(settings, SessionBuilder::contact_endpoint))
    })
}

fn tls(args: &ProbeArgs, mut settings: SessionBuilder) -> SessionBuilder {
    let implied = args.tls_cert.is_some() || !args.tls_name.is_empty() || args.sni_proxy.is_some();
    settings = match &args.tls_ca {
        Some(ca) => settings.tls_ca_file(ca),
        None if args.tls || implied => settings.tls_native_roots(),
        None => settings,
    };
    if let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) {
        settings = settings.tls_client_files(cert, key);
    }
    args.tls_name.iter().fold(settings, SessionBuilder::tls_accepted_name)
}

/// From the environment, or asked for; never from an argument, and never printed. `None` if whoever was asked cancels.
fn password(user: &str, variable: Option<&str>) -> Result<Option<String>, String> {
    if let Some(variable) = variable {
        return match std::env::var(variable) {
            Ok(password) => Ok(Some(password)),
            Err(std::env::VarError::NotPresent) => Err(format!("the environment variable {variable} is not set")),
            Err(std::env::VarError::NotUnicode(_)) => Err(format!("the environment variable {variable} is not UTF-8")),
        };
    }
    let terminal = Term::stderr();
    if !terminal.is_term() {
        return Err("there is no terminal to ask for the password; name a variable with `--password-env VAR`".into());
    }
    let prompted = terminal.write_str(&format!("Password of {user}: ")).and_then(|()| secret::read());
    let _ = terminal.write_line("");
    prompted.map_err(|error| format!("the password could not be read: {error}"))
}

/// A line on a terminal; nothing elsewhere.
fn progress() -> (ProgressBar, impl Fn(messina::probe::Progress) + Send + Sync + 'static) {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} of {len} addresses probed") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    let shown = bar.clone();
    let tell = move |progress: messina::probe::Progress| {
        shown.set_length(progress.found as u64);
        shown.set_position(progress.done as u64);
    };
    (bar, tell)
}

fn statement(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("a statement of CQL, which is not empty".into()) } else { Ok(text.to_owned()) }
}

/// The longest limit of a step: a day.
const LONGEST: Duration = Duration::from_secs(86_400);

fn seconds(text: &str) -> Result<Duration, String> {
    let limit = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let allowed = Duration::from_millis(1)..=LONGEST;
    limit
        .filter(|limit| allowed.contains(limit))
        .ok_or_else(|| "a number of seconds, from 0.001 to 86400 (a day)".into())
}
