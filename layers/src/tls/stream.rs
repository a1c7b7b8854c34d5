//! Bytes, inside TLS or not.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(feature = "rustls")]
use tokio_rustls::client::TlsStream;

/// A transport, plain or inside TLS.
#[derive(Debug)]
#[non_exhaustive]
pub enum MaybeTls<IO> {
    /// As the connector gave it.
    Plain(IO),
    /// Inside TLS.
    #[cfg(feature = "rustls")]
    Tls(Box<TlsStream<IO>>),
}

impl<IO> MaybeTls<IO> {
    /// Whether the bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }
}

/// Forwards a poll method to the variant in force.
macro_rules! forward {
    ($self:ident, $io:ident => $call:expr) => {
        match $self.get_mut() {
            MaybeTls::Plain(io) => {
                let $io = Pin::new(io);
                $call
            }
            #[cfg(feature = "rustls")]
            MaybeTls::Tls(io) => {
                let $io = Pin::new(io);
                $call
            }
        }
    };
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for MaybeTls<IO> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        forward!(self, io => io.poll_read(cx, buf))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for MaybeTls<IO> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        forward!(self, io => io.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, io => io.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        forward!(self, io => io.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            #[cfg(feature = "rustls")]
            Self::Tls(io) => io.is_write_vectored(),
        }
    }
}

#[cfg(feature = "rustls")]
pub(super) use with_rustls::Connect;
#[cfg(not(feature = "rustls"))]
pub(super) use without_rustls::Connect;

#[cfg(feature = "rustls")]
mod with_rustls {
    use super::{AsyncRead, AsyncWrite, Context, MaybeTls, Pin, Poll, io};
    use crate::{
        error::BoxError,
        target::{Accept, TlsIdentity},
        tls::{TlsLayer, config, sessions::Whose, verify},
    };
    use std::{future::Future, net::IpAddr};
    use tokio_rustls::rustls::pki_types::ServerName;

    /// A TLS handshake in progress.
    // Boxed, because it is over a kilobyte that the future of a plain target would carry through every layer.
    pub(in crate::tls) struct Connect<IO>(Box<Handshake<IO>>);

    struct Handshake<IO> {
        connect: tokio_rustls::Connect<IO>,
        // The address that is verified, where the target names nothing else.
        address: Option<IpAddr>,
    }

    impl<IO: AsyncRead + AsyncWrite + Unpin> Future for Connect<IO> {
        type Output = io::Result<MaybeTls<IO>>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            let address = self.0.address;
            Pin::new(&mut self.0.connect).poll(cx).map_ok(|stream| MaybeTls::Tls(Box::new(stream))).map_err(|error| {
                match address {
                    Some(address) => verify::explained(error, address),
                    None => error,
                }
            })
        }
    }

    impl TlsLayer {
        pub(in crate::tls) fn connect<IO>(
            &self,
            identity: &TlsIdentity,
            dialled: IpAddr,
            io: IO,
        ) -> Result<Connect<IO>, BoxError>
        where
            IO: AsyncRead + AsyncWrite + Unpin,
        {
            let settings = identity.config.as_ref().or(self.config.as_ref());
            let settings =
                settings.ok_or("TLS is asked for, but neither the target nor the layer has settings for it")?;
            let accepted: Vec<ServerName<'static>> = match &identity.accept {
                Accept::Dialled => vec![ServerName::IpAddress(dialled.into())],
                Accept::Names(names) if names.is_empty() => {
                    return Err("the list of names that a certificate may be valid for is empty".into());
                }
                Accept::Names(names) => names.iter().map(config::server_name).collect::<Result<_, _>>()?,
            };
            let asked = match &identity.sni {
                Some(name) => config::server_name(name)?,
                None => accepted[0].clone(),
            };
            let whose = Whose { scope: identity.session_scope.clone(), asked: asked.clone(), accepted };
            let config = settings.for_server(whose)?;
            let address = matches!(identity.accept, Accept::Dialled).then_some(dialled);
            let connect = tokio_rustls::TlsConnector::from(config).connect(asked, io);
            Ok(Connect(Box::new(Handshake { connect, address })))
        }
    }
}

#[cfg(not(feature = "rustls"))]
mod without_rustls {
    use super::{Context, MaybeTls, Pin, Poll, io};
    use crate::{error::BoxError, target::TlsIdentity, tls::TlsLayer};
    use std::{convert::Infallible, future::Future, marker::PhantomData, net::IpAddr};

    /// Never made: this build has no TLS.
    pub(in crate::tls) struct Connect<IO>(Infallible, PhantomData<fn() -> IO>);

    impl<IO> Future for Connect<IO> {
        type Output = io::Result<MaybeTls<IO>>;

        fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
            match self.0 {}
        }
    }

    impl TlsLayer {
        pub(in crate::tls) fn connect<IO>(
            &self,
            _identity: &TlsIdentity,
            _dialled: IpAddr,
            _io: IO,
        ) -> Result<Connect<IO>, BoxError> {
            Err("TLS is asked for, but messina-layers was built without its feature `rustls`".into())
        }
    }
}
