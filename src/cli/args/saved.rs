//! What a plan is told by: its whole fingerprint, and how long its file can be applied.

use jiff::SignedDuration;

use crate::model::address::Name;
use crate::plan::artifact::binding;

/// Reads a whole fingerprint. Eight digits are for display: somebody who writes two plans can make them agree there.
pub(super) fn parse_fingerprint(text: &str) -> Result<Name, String> {
    const WHOLE: &str = "give the whole fingerprint, 64 hexadecimal digits: `stead plan --output json`, `stead plan -v` \
                         and the last line of a plan's Markdown report have it";
    let digits = text.trim().to_lowercase();
    let is_hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    match digits.len() {
        64 if is_hex(&digits) => Ok(Name::new(&digits)),
        8 | 9 if is_hex(&digits.replacen('-', "", 1)) => Err(format!(
            "eight digits are for display only, for two plans can have the same eight; {WHOLE}"
        )),
        _ => Err(format!("this is no fingerprint of a plan; {WHOLE}")),
    }
}

/// Reads how long a saved plan can be applied.
pub(super) fn parse_lifetime(text: &str) -> Result<SignedDuration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let lifetime = match days {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => text.parse().map_err(|_| "it has the form 90m, 12h or 7d".to_owned())?,
    };
    if binding::LIFETIMES.contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("it is from 1m to 30d".to_owned())
    }
}
