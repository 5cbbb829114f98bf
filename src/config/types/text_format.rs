//! Formats of strings: networks, keys, login names, times. In: a string and its format; out: nothing, or a
//! mismatch with the value that was probably meant. The rules are those of the service (Errors), checked
//! before anything is sent.

use ipnet::{IpNet, Ipv4Net};

use super::cron;
use super::mismatch::TypeMismatch;
use crate::config::codes;
use crate::config::syntax::quoting::shorten_for_message;
use crate::config::types::relative_path::path_refusal;
use crate::model::diagnostic::nearest_name;
use crate::model::schema::TextFormat;

/// Prefixes of login names that the service reserves (Errors: database users).
const RESERVED_LOGINS: &[&str] = &["app_", "fnb_"];
/// Effects of a Kubernetes taint on workloads that do not tolerate it.
const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
/// Prefixes of OpenSSH public key types.
const KEY_TYPES: &[&str] = &["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"];

/// Checks that a string has a format.
pub(in crate::config) fn check_format(text: &str, format: TextFormat) -> Result<(), TypeMismatch> {
    match format {
        TextFormat::Any => Ok(()),
        TextFormat::Cidr4 => parse_network(text).map(|_| ()),
        TextFormat::AllowedCidr4 => {
            if parse_network(text)?.prefix_len() == 0 {
                return Err(format_mismatch(
                    "0.0.0.0/0 allows every address, and the service refuses it.".into(),
                )
                .help("name the networks, or leave the list empty"));
            }
            Ok(())
        }
        TextFormat::SshPublicKey => ssh_key(text),
        TextFormat::DatabaseUser => check_database_user(text),
        TextFormat::Timestamp => text.parse::<jiff::Timestamp>().map(|_| ()).map_err(|_| {
            format_mismatch(format!("`{}` is not an RFC 3339 time.", shorten_for_message(text)))
        }),
        TextFormat::HttpPath if text.starts_with('/') => Ok(()),
        TextFormat::HttpPath => Err(format_mismatch(format!(
            "A path begins with a slash, and this is `{}`.",
            shorten_for_message(text)
        ))
        .help(format!("write /{}", shorten_for_message(text)))
        .fix(format!("/{text}"))),
        TextFormat::Cron => cron::check(text).map_err(|why| match cron::expand_nickname(text) {
            Some(right) => {
                format_mismatch(why).help(format!("write \"{right}\"")).fix(format!("\"{right}\""))
            }
            None => format_mismatch(why)
                .help("write, for example, \"0 6 * * 1-5\": at six o'clock from Monday to Friday"),
        }),
        TextFormat::TimeZone => time_zone(text),
        TextFormat::ClockTime => clock_time(text),
        TextFormat::Domain => check_domain(text),
        TextFormat::Email => check_email(text),
        TextFormat::Taint => check_taint(text),
        TextFormat::PathName => path_name(text),
        TextFormat::Directory => match path_refusal(text) {
            None => Ok(()),
            Some(why) => {
                Err(TypeMismatch::new(codes::CONFINED_PATH, "this path cannot be used", format!("{why}.")))
            }
        },
    }
}

/// Checks the name of a time zone against the IANA database.
fn time_zone(text: &str) -> Result<(), TypeMismatch> {
    if jiff::tz::db().get(text).is_ok() {
        return Ok(());
    }
    let mistake = format_mismatch(format!(
        "`{}` is not a time zone of the IANA database.",
        shorten_for_message(text)
    ));
    let offset = ["UTC", "GMT"].iter().find_map(|name| text.strip_prefix(name)).unwrap_or(text);
    if let Some((sign, hours)) = offset.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))
        && let Ok(hours @ 1..=12) = hours.split(':').next().unwrap_or_default().parse::<u8>()
    {
        let turned = if sign == "+" { "-" } else { "+" };
        return Err(mistake.help(format!(
            "name the zone, such as Europe/Paris; the IANA name of the fixed offset is Etc/GMT{turned}{hours}, with the opposite sign"
        )));
    }
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    Err(match nearest_name(text, known.iter().map(String::as_str)) {
        Some(near) => mistake.help(format!("did you mean {near}?")).fix(near),
        None => mistake.help("write a name such as Europe/Paris or UTC"),
    })
}

fn clock_time(text: &str) -> Result<(), TypeMismatch> {
    let number = |text: &str, most: u8| {
        text.len() == 2
            && text.bytes().all(|b| b.is_ascii_digit())
            && text.parse::<u8>().is_ok_and(|n| n <= most)
    };
    match text.split_once(':') {
        Some((hour, minute)) if number(hour, 23) && number(minute, 59) => Ok(()),
        _ => Err(format_mismatch(format!(
            "A time of the day such as 02:00 was expected, and this is `{}`.",
            shorten_for_message(text)
        ))),
    }
}

fn check_domain(text: &str) -> Result<(), TypeMismatch> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if text.contains('.') && text.len() <= 253 && text.split('.').all(label) {
        return Ok(());
    }
    let mistake = format_mismatch(format!(
        "A domain such as shop.example.com was expected, and this is `{}`.",
        shorten_for_message(text)
    ));
    let bare = text.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    let bare = bare.to_ascii_lowercase();
    let mended = bare != text && bare.contains('.') && bare.split('.').all(label);
    Err(if mended { mistake.help(format!("write {bare}")).fix(bare) } else { mistake })
}

fn check_email(text: &str) -> Result<(), TypeMismatch> {
    let good = text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && host.contains('.') && !host.contains('@') && !text.contains(char::is_whitespace)
    });
    if good {
        return Ok(());
    }
    Err(format_mismatch(format!(
        "A mail address was expected, and this is `{}`.",
        shorten_for_message(text)
    )))
}

/// Checks a taint in the notation of `kubectl`.
fn check_taint(text: &str) -> Result<(), TypeMismatch> {
    let expected = || {
        format_mismatch(format!(
            "A taint such as dedicated=batch:NoSchedule was expected, and this is `{}`.",
            shorten_for_message(text)
        ))
    };
    let Some((rest, effect)) = text.rsplit_once(':') else {
        return Err(expected().help(format!("end it with one of {}", TAINT_EFFECTS.join(", "))));
    };
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let legal = |part: &str| {
        part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
    };
    if key.is_empty() || !legal(key) || !legal(value) {
        return Err(expected());
    }
    if TAINT_EFFECTS.contains(&effect) {
        return Ok(());
    }
    let mistake = format_mismatch(format!("`{}` is not a taint effect.", shorten_for_message(effect)));
    Err(match nearest_name(effect, TAINT_EFFECTS.iter().copied()) {
        Some(near) => mistake.help(format!("did you mean {near}?")).fix(format!("{rest}:{near}")),
        None => mistake.help(format!("write one of {}", TAINT_EFFECTS.join(", "))),
    })
}

/// Checks a name that requests contain in their path.
fn path_name(text: &str) -> Result<(), TypeMismatch> {
    let hostile = |c: char| c.is_control() || matches!(c, '/' | '\\' | '%');
    if matches!(text, "." | "..") || text.chars().any(hostile) {
        let mistake = format_mismatch(format!(
            "`{}` is used in the paths of requests, where some of its characters are not allowed.",
            shorten_for_message(text)
        ));
        return Err(mistake.help("write it without slashes, backslashes and percent signs"));
    }
    Ok(())
}

fn format_mismatch(detail: String) -> TypeMismatch {
    TypeMismatch::new(codes::WRONG_FORM, "this text has an invalid format", detail)
}

/// Parses an IPv4 network without host bits.
pub(in crate::config) fn parse_network(text: &str) -> Result<Ipv4Net, TypeMismatch> {
    let expected = || {
        format!(
            "An IPv4 network such as 10.0.0.0/16 was expected, and this is `{}`.",
            shorten_for_message(text)
        )
    };
    match text.parse::<IpNet>() {
        Ok(IpNet::V4(network)) if network.trunc() == network => Ok(network),
        Ok(IpNet::V4(network)) => {
            let network = network.trunc();
            Err(format_mismatch(format!(
                "`{}` is an address inside the network {network}.",
                shorten_for_message(text)
            ))
            .help(format!("write {network}"))
            .fix(network.to_string()))
        }
        Ok(IpNet::V6(_)) => Err(format_mismatch(expected()).help("the service takes IPv4 networks only")),
        Err(_) if text.parse::<core::net::Ipv4Addr>().is_ok() => Err(format_mismatch(expected())
            .help(format!("write {text}/32 for this one address"))
            .fix(format!("{text}/32"))),
        Err(_) => {
            let (address, _) = text.split_once('/').unwrap_or_default();
            let is_address = address.parse::<core::net::Ipv4Addr>().is_ok();
            let help = is_address.then(|| "write the prefix length, 0 to 32, after the slash".to_owned());
            Err(TypeMismatch { help, ..format_mismatch(expected()) })
        }
    }
}

fn ssh_key(text: &str) -> Result<(), TypeMismatch> {
    if text.contains("PRIVATE KEY") {
        return Err(format_mismatch("This is a private key.".into())
            .help("give the public one, the file ending in .pub"));
    }
    let line = text.trim_end_matches(['\n', '\r']);
    let mut parts = line.split(' ');
    let known = parts.next().is_some_and(|first| KEY_TYPES.iter().any(|known| first.starts_with(known)));
    let body = parts.next().unwrap_or_default();
    let base64 = body.len() >= 16
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    if known && base64 && !line.contains('\n') {
        // The service refuses the line break with which a file ends.
        return if line == text {
            Ok(())
        } else {
            Err(format_mismatch(
                "The public key ends with a line break, and the service accepts one line.".into(),
            )
            .help("cut it off: `\"${file('key.pub').trim()}\"`"))
        };
    }
    let mistake =
        format_mismatch("One line of an OpenSSH public key was expected: type, key, comment.".into());
    let name = line.rsplit('/').next().unwrap_or_default();
    Err(match name.strip_suffix(".pub") {
        Some(stem) if !stem.contains(' ') => mistake.help(format!(
            "put the file into the stack's directory, and write `\"${{file('{name}').trim()}}\"`"
        )),
        _ => mistake,
    })
}

fn check_database_user(text: &str) -> Result<(), TypeMismatch> {
    let legal = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if !legal {
        return Err(format_mismatch(format!(
            "`{}` is not a valid login: use a-z, 0-9 and _, and no digit first.",
            shorten_for_message(text)
        )));
    }
    match RESERVED_LOGINS.iter().find(|reserved| text.starts_with(**reserved)) {
        Some(reserved) => {
            Err(format_mismatch(format!("The service reserves logins that begin with {reserved}.")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_formats_accept_and_reject_their_samples() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFake me@example";
        for (text, format) in [
            ("10.20.0.0/16", TextFormat::Cidr4),
            ("203.0.113.0/24", TextFormat::AllowedCidr4),
            (key, TextFormat::SshPublicKey),
            ("reporting_1", TextFormat::DatabaseUser),
            ("2026-01-02T03:04:05Z", TextFormat::Timestamp),
            ("dedicated=batch:NoSchedule", TextFormat::Taint),
            ("example.com/gpu:NoExecute", TextFormat::Taint),
            ("orders of today?", TextFormat::PathName),
        ] {
            assert_eq!(check_format(text, format), Ok(()), "{text}");
        }
        for (text, format, detail) in [
            (
                "10.20.0.1/16",
                TextFormat::Cidr4,
                "`10.20.0.1/16` is an address inside the network 10.20.0.0/16.",
            ),
            (
                "::/0",
                TextFormat::Cidr4,
                "An IPv4 network such as 10.0.0.0/16 was expected, and this is `::/0`.",
            ),
            (
                "0.0.0.0/0",
                TextFormat::AllowedCidr4,
                "0.0.0.0/0 allows every address, and the service refuses it.",
            ),
            (
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFake me@example\n",
                TextFormat::SshPublicKey,
                "The public key ends with a line break, and the service accepts one line.",
            ),
            (
                "ssh-rsa",
                TextFormat::SshPublicKey,
                "One line of an OpenSSH public key was expected: type, key, comment.",
            ),
            ("app_x", TextFormat::DatabaseUser, "The service reserves logins that begin with app_."),
            (
                "1x",
                TextFormat::DatabaseUser,
                "`1x` is not a valid login: use a-z, 0-9 and _, and no digit first.",
            ),
            ("soon", TextFormat::Timestamp, "`soon` is not an RFC 3339 time."),
            ("a=b:NoSchedul", TextFormat::Taint, "`NoSchedul` is not a taint effect."),
            (
                "batch",
                TextFormat::Taint,
                "A taint such as dedicated=batch:NoSchedule was expected, and this is `batch`.",
            ),
            (
                "a/b",
                TextFormat::PathName,
                "`a/b` is used in the paths of requests, where some of its characters are not allowed.",
            ),
        ] {
            assert_eq!(check_format(text, format).unwrap_err().detail, detail, "{text}");
        }
    }
}
