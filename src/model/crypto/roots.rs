//! The choice of trusted TLS certificate authorities. In: whether the platform has authorities, and whether an
//! environment variable names some; the caller queries both. Out: TLS settings. A container image without
//! certificates uses the authorities that are compiled into the program.

use rustls::{ClientConfig, ConfigBuilder, Error, RootCertStore, WantsVerifier};

/// Environment variables that name a file or directory of authorities to use instead of the platform's.
pub const CA_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The set of authorities that is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustRoots {
    /// The platform's own certificate authorities.
    Platform,
    /// The authorities that an environment variable names, instead of the platform's.
    Named,
    /// The authorities compiled into the program.
    BuiltIn,
}

/// Returns the set of authorities to trust. Where a variable names authorities, only those are trusted.
#[must_use]
pub const fn choose_authorities(platform_has_some: bool, some_are_named: bool) -> TrustRoots {
    match (some_are_named, platform_has_some) {
        (true, _) => TrustRoots::Named,
        (false, true) => TrustRoots::Platform,
        (false, false) => TrustRoots::BuiltIn,
    }
}

/// Returns the TLS settings with the platform's verifier, or, where the platform has none and no authorities are named,
/// with the authorities of the program.
///
/// # Errors
/// The error of `platform`, when authorities are named: a fallback would trust others than the user chose.
pub fn tls_with_fallback(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    platform: Result<ClientConfig, Error>,
    some_are_named: bool,
) -> Result<ClientConfig, Error> {
    match choose_authorities(platform.is_ok(), some_are_named) {
        TrustRoots::Platform | TrustRoots::Named => platform,
        TrustRoots::BuiltIn => Ok(builder.with_root_certificates(built_in()).with_no_client_auth()),
    }
}

fn built_in() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_roots_are_used_only_where_the_platform_has_none() {
        assert_eq!(choose_authorities(true, false), TrustRoots::Platform);
        assert_eq!(choose_authorities(true, true), TrustRoots::Named);
        assert_eq!(choose_authorities(false, true), TrustRoots::Named);
        assert_eq!(choose_authorities(false, false), TrustRoots::BuiltIn);
        assert!(built_in().len() > 100);
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.unwrap();
        let none = || Err(Error::General("none".to_owned()));
        assert!(tls_with_fallback(builder.clone(), none(), true).is_err());
        assert!(tls_with_fallback(builder, none(), false).is_ok());
    }
}
