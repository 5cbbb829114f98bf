//! Detection of environment entries that look like secrets, by key or by value, for warnings and for imports.
//!
//! It is a guess in both directions. It never decides whether a value that is marked as a secret is treated as one.

/// Words that mark a value as confidential wherever they occur in its key.
const SECRET_KEY_WORDS: &[&str] = &[
    "ACCESS_KEY",
    "APIKEY",
    "API_KEY",
    "CREDENTIAL",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE",
    "SECRET",
    "SIGNING",
    "TOKEN",
];

/// Words that mark a value as confidential only as the last part of its key between underscores: `KEYBOARD` and
/// `COMPASS` contain them, too.
const SECRET_KEY_PARTS: &[&str] = &["DSN", "KEY", "PASS", "PW", "PWD", "SALT"];

/// Suffixes of a key whose value describes a secret but is not one.
const METADATA_SUFFIXES: &[&str] = &[
    "ALGORITHM",
    "COUNT",
    "DAYS",
    "ENABLED",
    "EXPIRATION",
    "EXPIRES",
    "EXPIRES_IN",
    "EXPIRE_MINUTES",
    "EXPIRY",
    "FILE",
    "HEADER",
    "HOST",
    "HOURS",
    "ISSUER",
    "LENGTH",
    "LIFETIME",
    "MINUTES",
    "NAME",
    "PATH",
    "PORT",
    "PUBLIC_KEY",
    "PUBLISHABLE_KEY",
    "SECONDS",
    "TTL",
    "TYPE",
    "URI",
    "URL",
    "VERSION",
];

/// Prefixes of the tokens of well-known services.
const TOKEN_PREFIXES: &[&str] = &[
    "AIza",
    "AKIA",
    "EV[1:",
    "SG.",
    "eyJ",
    "ghp_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pk_live_",
    "rk_live_",
    "sk-",
    "sk_",
    "whsec_",
    "xoxb-",
    "xoxp-",
];

/// Values that are never secrets, whatever their key.
const PUBLIC_VALUES: &[&str] = &["", "false", "no", "none", "null", "off", "on", "true", "yes"];

/// Returns whether an entry of a map looks like a secret, by its key or by its value; false for an empty value or a
/// switch such as `yes`.
#[must_use]
pub fn looks_secret(key: &str, value: &str) -> bool {
    !PUBLIC_VALUES.contains(&value.to_ascii_lowercase().as_str())
        && (is_secret_key(key) || is_secret_value(value))
}

/// Returns whether a key marks its value as a secret, in any case and with `-`, `.` or `_` between its parts. The key
/// `KEY` alone does not.
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    let upper = key.to_uppercase().replace(['-', '.'], "_");
    let about =
        METADATA_SUFFIXES.iter().any(|end| upper.strip_suffix(end).is_some_and(|rest| rest.ends_with('_')));
    let named = SECRET_KEY_WORDS.iter().any(|word| upper.contains(word));
    let last = upper.rsplit('_').next().unwrap_or_default();
    !about && (named || SECRET_KEY_PARTS.contains(&last) && upper != "KEY")
}

fn is_secret_value(value: &str) -> bool {
    let login = value.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    login.is_some_and(|(login, _)| login.contains(':') && !login.contains('/'))
        || value.contains("-----BEGIN")
        || value.contains("hooks.slack.com/services/")
        || TOKEN_PREFIXES.iter().any(|start| value.len() >= 16 && value.starts_with(start))
        || is_random(value)
}

/// Returns whether a string looks generated: hexadecimal of at least 32 digits, or base64 of at least 28 characters in
/// both cases, each with a decimal digit.
fn is_random(value: &str) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let digits = has(char::is_ascii_digit);
    let is_hex = value.len() >= 32 && value.bytes().all(|b| b.is_ascii_hexdigit());
    let is_base64 = value.len() >= 28
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b))
        && !value.contains("//")
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase);
    digits && (is_hex && has(char::is_ascii_alphabetic) || is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognized_by_key_or_format() {
        for (key, value, secret) in [
            ("STRIPE_KEY", "sk_live", true),
            ("db_password", "x", true),
            ("DB_PASS", "x", true),
            ("SENTRY_DSN", "https://a@b/1", true),
            ("URL", "postgres://me:pw@db/x", true),
            ("PEM", "-----BEGIN PRIVATE KEY-----", true),
            ("PAYMENT", "sk_live_0123456789abcdef", true),
            ("SIGNER", "3q2hX8ZkPq0vLw7RtYbN4cUeHs1dFgJm", true),
            ("SALTED", "9f86d081884c7d659a2feaa0c55ad015", true),
            ("URL", "https://example.com/a@b:c", false),
            ("MODE", "fast", false),
            ("KEYBOARD", "de", false),
            ("COMPASS", "north", false),
            ("VAPID_PUBLIC_KEY", "abc", false),
            ("TOKEN_TTL", "3600", false),
            ("DB_PASSWORD_FILE", "/run/secrets/db", false),
            ("ALLOW_EMPTY_PASSWORD", "yes", false),
            ("PASSWORD", "", false),
            ("PROJECT", "0b8a7e1c-3f55-4a53-9c1d-0a1b2c3d4e5f", false),
            ("BUCKET", "acme-media-eu-west-1-production-assets", false),
        ] {
            assert_eq!(looks_secret(key, value), secret, "{key}={value}");
        }
    }
}
