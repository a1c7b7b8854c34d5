//! A certificate authority of the run, and what it signs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use messina_layers::rustls::crypto::ring::default_provider;
use messina_layers::rustls::pki_types::pem::PemObject;
use messina_layers::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use messina_layers::rustls::{ClientConfig, RootCertStore};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Files of the authority and of a client it knows.
#[derive(Debug)]
pub(crate) struct Pki {
    issuer: Issuer<'static, KeyPair>,
    directory: PathBuf,
    /// The authority's certificate, PEM.
    pub(crate) ca: PathBuf,
    /// A client's certificate and key, PEM.
    pub(crate) client_certificate: PathBuf,
    pub(crate) client_key: PathBuf,
}

impl Pki {
    /// Makes the authority and a client certificate in a directory.
    pub(crate) fn create(directory: &Path) -> Result<Self, String> {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut params = CertificateParams::new(Vec::new()).map_err(|error| error.to_string())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Messina test authority");
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let certificate = params.self_signed(&key).map_err(|error| error.to_string())?;
        let pki = Self {
            issuer: Issuer::new(params, key),
            directory: directory.to_owned(),
            ca: directory.join("ca.pem"),
            client_certificate: directory.join("client.pem"),
            client_key: directory.join("client-key.pem"),
        };
        write(&pki.ca, &certificate.pem())?;
        let (certificate, key) = pki.sign("client.messina.test", ExtendedKeyUsagePurpose::ClientAuth)?;
        write(&pki.client_certificate, &certificate)?;
        write(&pki.client_key, &key)?;
        Ok(pki)
    }

    /// The key, the certificate for one name, and the authority in one file, as Cassandra reads them.
    pub(crate) fn server(&self, name: &str) -> Result<PathBuf, String> {
        let file = self.server_file(name);
        let (certificate, key) = self.sign(name, ExtendedKeyUsagePurpose::ServerAuth)?;
        let ca = fs::read_to_string(&self.ca).map_err(|error| error.to_string())?;
        write(&file, &format!("{key}{certificate}{ca}"))?;
        Ok(file)
    }

    /// The file that holds them.
    pub(crate) fn server_file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.pem"))
    }

    /// Settings of a client that trusts the authority, with or without the client certificate.
    pub(crate) fn client(&self, with_certificate: bool) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.ca).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match with_certificate {
            false => builder.with_no_client_auth(),
            true => {
                let certificate = CertificateDer::from_pem_file(&self.client_certificate).unwrap();
                let key = PrivateKeyDer::from_pem_file(&self.client_key).unwrap();
                builder.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        })
    }

    fn sign(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Result<(String, String), String> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(|error| error.to_string())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(|error| error.to_string())?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
