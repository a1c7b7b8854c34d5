//! The connection config of ScyllaDB Cloud, in YAML.

use std::{path::Path, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use messina_layers::{Name, TlsConfig};
use serde_json::{Map, Value};

use super::{BundleError, CloudSettings, fields::Fields, read};
use crate::{
    config::{PlainText, TlsSettings},
    endpoint::SniProxy,
};

const KIND: &str = "CQLConnectionConfig";

pub(super) fn parse(text: &str, file: &str, dir: Option<&Path>) -> Result<CloudSettings, BundleError> {
    let config: Value =
        serde_yaml_ng::from_str(text).map_err(|error| BundleError::new(file, "is not YAML").because(error))?;
    let fields = Fields::new(file, &config);
    if let Some(kind) = fields.text("kind")?.filter(|kind| *kind != KIND) {
        return Err(fields.error("kind", format!("is {kind:?}, and not {KIND:?}")));
    }
    let current = fields.required("currentContext")?;
    let path = format!("contexts.{current}");
    let context = fields.at(&path, named(fields, "contexts", current)?);
    let local = context.required("datacenterName")?;
    named(fields, "datacenters", local)?;
    let login = context.required("authInfoName")?;
    let path = format!("authInfos.{login}");
    let login = fields.at(&path, named(fields, "authInfos", login)?);

    let mut builder = TlsConfig::builder();
    let mut proxies = Vec::new();
    let mut trust_all = login.flag("insecureSkipTlsVerify")?;
    // The local one first: its proxy is where the session begins.
    let mut datacenters: Vec<_> = section(fields, "datacenters")?.iter().collect();
    datacenters.sort_by_key(|(name, _)| *name != local);
    for (name, value) in datacenters {
        let path = format!("datacenters.{name}");
        let datacenter = fields.at(&path, value);
        proxies.push(proxy(datacenter)?.for_datacenter(name));
        trust_all |= datacenter.flag("insecureSkipTlsVerify")?;
        if let Some((field, pem)) = data(datacenter, "certificateAuthority", dir)? {
            builder =
                builder.ca_pem(&pem).map_err(|error| datacenter.error(&field, "cannot be used").because(error))?;
        } else if !trust_all {
            return Err(datacenter.error("certificateAuthorityData", "is missing, as is `certificateAuthorityPath`"));
        }
    }
    builder = match (data(login, "clientCertificate", dir)?, data(login, "clientKey", dir)?) {
        (Some((field, chain)), Some((_, key))) => builder
            .client_pem(&chain, &key)
            .map_err(|error| login.error(&field, "cannot be used, or its key").because(error))?,
        (None, None) => builder,
        (Some(_), None) => return Err(login.error("clientKeyData", "is missing, and there is a certificate")),
        (None, Some(_)) => return Err(login.error("clientCertificateData", "is missing, and there is a key")),
    };
    if trust_all {
        builder = builder.dangerous_trust_all();
    }
    let tls = builder.build().map_err(|error| BundleError::new(file, "has no usable certificates").because(error))?;
    let authenticator = match (login.text("username")?, login.text("password")?) {
        (Some(user), Some(password)) => Some(Arc::new(PlainText::new(user, password)) as _),
        (None, None) => None,
        (Some(_), None) => return Err(login.error("password", "is missing, and there is a `username`")),
        (None, Some(_)) => return Err(login.error("username", "is missing, and there is a `password`")),
    };
    Ok(CloudSettings {
        proxies,
        tls: TlsSettings::new(tls),
        authenticator,
        keyspace: None,
        local_datacenter: Some(local.to_owned()),
    })
}

fn proxy(datacenter: Fields<'_>) -> Result<SniProxy, BundleError> {
    if datacenter.text("proxyURL")?.is_some() {
        return Err(datacenter.error("proxyURL", "is set, and dialling through such a proxy is not supported"));
    }
    let server = datacenter.required("server")?;
    let address = server.strip_prefix("https://").unwrap_or(server).trim_end_matches('/');
    let domain = datacenter.required("nodeDomain")?;
    let proxy = SniProxy::parse(address, domain).map_err(|error| {
        let field = if error.text() == address { "server" } else { "nodeDomain" };
        datacenter.error(field, "cannot be used").because(error)
    })?;
    match datacenter.text("tlsServerName")? {
        None => Ok(proxy),
        Some(name) => {
            let name =
                Name::new(name).map_err(|error| datacenter.error("tlsServerName", "is no name").because(error))?;
            Ok(proxy.verifying(name))
        }
    }
}

fn section<'a>(fields: Fields<'a>, name: &str) -> Result<&'a Map<String, Value>, BundleError> {
    let section = fields.get(name).ok_or_else(|| fields.error(name, "is missing"))?;
    section.as_object().ok_or_else(|| fields.error(name, "is no map"))
}

fn named<'a>(fields: Fields<'a>, name: &str, key: &str) -> Result<&'a Value, BundleError> {
    let known = section(fields, name)?;
    known.get(key).ok_or_else(|| {
        let there: Vec<_> = known.keys().map(String::as_str).collect();
        fields.error(name, format!("has no {key:?}; there are {}", there.join(", ")))
    })
}

/// What stands in `<name>Data` in base 64, or in the file that `<name>Path` names; with the field that had it.
fn data(fields: Fields<'_>, name: &str, dir: Option<&Path>) -> Result<Option<(String, Vec<u8>)>, BundleError> {
    let field = format!("{name}Data");
    if let Some(text) = fields.text(&field)? {
        let compact: String = text.split_whitespace().collect();
        let bytes = STANDARD.decode(compact).map_err(|error| fields.error(&field, "is not base 64").because(error))?;
        return Ok(Some((field, bytes)));
    }
    let field = format!("{name}Path");
    let Some(path) = fields.text(&field)? else { return Ok(None) };
    let path = dir.unwrap_or(Path::new("")).join(path);
    let bytes =
        read(&path).map_err(|error| fields.error(&field, "leads to a file that cannot be used").because(error))?;
    Ok(Some((field, bytes)))
}
