//! TLS 1.3 with ML-DSA certificates and X25519MLKEM768, all of it compiled by rustc alone. The base is graviola.
//!
//! ```sh
//! cargo run --release -p mldsa-rustls --example tls -- issue certificates 44
//! cargo run --release -p mldsa-rustls --example tls -- serve certificates 4433 1 &
//! cargo run --release -p mldsa-rustls --example tls -- connect certificates 4433
//! ```
//!
//! `issue DIR SET` writes root.pem, chain.pem and key.pem. `serve DIR PORT COUNT [mutual]` ends after COUNT
//! connections; with `mutual` clients need a certificate. `connect DIR PORT [mutual]` sends a request.

mod issue;

use core::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use issue::{Chain, Plan};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use x509_cert::der::pem::{LineEnding, encode_string};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["issue", folder, set] => issue(folder.as_ref(), set),
        ["serve", folder, port, count] => serve(folder.as_ref(), port, count, false),
        ["serve", folder, port, count, "mutual"] => serve(folder.as_ref(), port, count, true),
        ["connect", folder, port] => connect(folder.as_ref(), port, false),
        ["connect", folder, port, "mutual"] => connect(folder.as_ref(), port, true),
        _ => Err(
            "usage: issue DIR SET | serve DIR PORT COUNT [mutual] | connect DIR PORT [mutual]"
                .into(),
        ),
    }
}

fn issue(folder: &Path, set: &str) -> Outcome {
    let plan = Plan::default();
    let made = match set {
        "44" => Chain::new::<SigningKey<MlDsa44>, SigningKey<MlDsa44>>(&plan)?,
        "65" => Chain::new::<SigningKey<MlDsa65>, SigningKey<MlDsa65>>(&plan)?,
        "87" => Chain::new::<SigningKey<MlDsa87>, SigningKey<MlDsa87>>(&plan)?,
        _ => return Err("a set is 44, 65 or 87".into()),
    };
    let pem = |label, der: &[u8]| {
        encode_string(label, LineEnding::LF, der).map_err(|error| error.to_string())
    };
    let chain = made
        .chain
        .iter()
        .map(|one| pem("CERTIFICATE", one))
        .collect::<Result<String, _>>()?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("root.pem"), pem("CERTIFICATE", &made.root)?)?;
    std::fs::write(folder.join("chain.pem"), chain)?;
    std::fs::write(
        folder.join("key.pem"),
        pem("PRIVATE KEY", made.key.secret_pkcs8_der())?,
    )?;
    println!("issued {set} in {}", folder.display());
    Ok(())
}

fn roots(folder: &Path) -> Outcome<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("root.pem"))?)?;
    Ok(Arc::new(roots))
}

fn identity(folder: &Path) -> Outcome<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain =
        CertificateDer::pem_file_iter(folder.join("chain.pem"))?.collect::<Result<_, _>>()?;
    Ok((chain, PrivateKeyDer::from_pem_file(folder.join("key.pem"))?))
}

fn serve(folder: &Path, port: &str, count: &str, mutual: bool) -> Outcome {
    let provider = Arc::new(with_mldsa(rustls_graviola::default_provider()));
    let clients = if mutual {
        WebPkiClientVerifier::builder_with_provider(roots(folder)?, provider.clone()).build()?
    } else {
        WebPkiClientVerifier::no_client_auth()
    };
    let (chain, key) = identity(folder)?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?))?;
    println!("listening");
    for _ in 0..count.parse::<u32>()? {
        let (mut stream, _) = listener.accept()?;
        let mut connection = ServerConnection::new(config.clone())?;
        let mut tls = rustls::Stream::new(&mut connection, &mut stream);
        let mut request = [0; 1024];
        match tls.read(&mut request) {
            Ok(length) => {
                tls.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\nhello, world")?;
                tls.conn.send_close_notify();
                tls.flush()?;
                println!(
                    "served a request of {length} bytes, {}",
                    described(tls.conn)
                );
            }
            Err(error) => println!("refused: {error}"),
        }
    }
    Ok(())
}

fn connect(folder: &Path, port: &str, mutual: bool) -> Outcome {
    let provider = Arc::new(with_mldsa(rustls_graviola::default_provider()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots(folder)?);
    let config = if mutual {
        let (chain, key) = identity(folder)?;
        config.with_client_auth_cert(chain, key)?
    } else {
        config.with_no_client_auth()
    };
    let mut connection =
        ClientConnection::new(Arc::new(config), ServerName::try_from("localhost")?)?;
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    tls.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = [0; 1024];
    let length = tls.read(&mut answer)?;
    println!("an answer of {length} bytes, {}", described(tls.conn));
    Ok(())
}

fn described(connection: &rustls::CommonState) -> String {
    let group = connection
        .negotiated_key_exchange_group()
        .map(|group| group.name());
    let certificates = connection.peer_certificates().map_or(0, <[_]>::len);
    format!(
        "{:?}, {group:?}, {certificates} certificates of the peer",
        connection.protocol_version()
    )
}
