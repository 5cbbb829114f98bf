//! Explanations of rejected server certificates. In: the error of the HTTP client. Out: the cause, and whether another
//! authority may be intended. A certificate does not become valid by a retry: nothing is repeated.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// Returns the reason why a certificate was rejected, if that ended a connection.
pub(in crate::cloud) fn rejection_reason(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return of_tls(found);
        }
        // An I/O error does not report the error that it wraps as its source, only that error's sources.
        cause = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

fn of_tls(error: &rustls::Error) -> Option<String> {
    match error {
        rustls::Error::InvalidCertificate(error) => Some(describe_certificate_error(error)),
        rustls::Error::NoCertificatesPresented => Some("the server presents none".to_owned()),
        _ => None,
    }
}

fn describe_certificate_error(error: &CertificateError) -> String {
    let text = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::Revoked => "it was revoked",
        CertificateError::UnknownIssuer => "its issuer is not trusted on this machine",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not a server certificate"
        }
        CertificateError::BadEncoding => "it cannot be read",
        CertificateError::BadSignature => "it is not signed by a trusted issuer",
        other => return format!("the check failed ({other})"),
    };
    text.to_owned()
}
