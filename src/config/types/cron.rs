//! Cron schedules with five fields, as the service accepts them (Errors: invalid cron schedule). Only their
//! form is checked here.

use crate::config::syntax::quoting::shorten_for_message;

/// Fields in order: name, minimum, maximum, and names that represent numbers.
const FIELDS: [(&str, u8, u8, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    ("month", 1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    ("day of the week", 0, 7, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Checks a schedule; the error is a sentence that names the wrong field and the reason.
pub(in crate::config) fn check(text: &str) -> Result<(), String> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "A schedule has five fields (minute, hour, day of the month, month, day of the week), and `{}` \
             has {}.",
            shorten_for_message(text),
            fields.len()
        ));
    }
    fields.iter().zip(&FIELDS).try_for_each(|(field, (name, low, high, words))| {
        field
            .split(',')
            .try_for_each(|part| check_part(part, (*low, *high), words))
            .map_err(|why| format!("The {name} `{}` of the schedule {why}.", shorten_for_message(field)))
    })
}

/// Returns the schedule of a nickname such as `@daily`, as the service accepts only fields; `None`
/// for any other string.
pub(in crate::config) fn expand_nickname(text: &str) -> Option<&'static str> {
    Some(match text {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return None,
    })
}

/// Checks one entry of a field: `*`, a number, a range, each with an optional step.
fn check_part(part: &str, bounds: (u8, u8), words: &[&str]) -> Result<(), String> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step {
        let step: u8 = step.parse().map_err(|_| "has a step that is not a number".to_owned())?;
        if step == 0 || step > bounds.1 {
            return Err(format!("has a step that is not from 1 to {}", bounds.1));
        }
    }
    if range == "*" {
        return Ok(());
    }
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high) = (parse_field_number(low, bounds, words)?, parse_field_number(high, bounds, words)?);
    if low > high {
        return Err("has a range whose start is after its end".to_owned());
    }
    Ok(())
}

fn parse_field_number(text: &str, (low, high): (u8, u8), words: &[&str]) -> Result<u8, String> {
    let named = words.iter().position(|word| word.eq_ignore_ascii_case(text));
    let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + low);
    let plain = || text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = named.or_else(plain).ok_or("is not made of numbers, `*`, `-`, `,` and `/`")?;
    if number < low || number > high {
        return Err(format!("is not from {low} to {high}"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_schedules_are_accepted_and_mistakes_explained() {
        for good in
            ["0 6 * * 1-5", "*/5 * * * *", "0 0 1,15 jan-mar sun", "59 23 31 12 7", "0-30/2 * * * *"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("0 6 * *", "has 4"),
            ("0 6 * * * *", "has 6"),
            ("@daily", "has 1"),
            ("60 6 * * *", "is not from 0 to 59"),
            ("0 24 * * *", "is not from 0 to 23"),
            ("0 6 0 * *", "is not from 1 to 31"),
            ("0 6 * 13 *", "is not from 1 to 12"),
            ("0 6 * * mo", "not made of numbers"),
            ("*/0 * * * *", "step"),
            ("9-3 * * * *", "start is after its end"),
            ("+5 * * * *", "not made of numbers"),
            ("1,, * * * *", "not made of numbers"),
        ] {
            assert!(check(bad).unwrap_err().contains(why), "{bad}: {:?}", check(bad));
        }
    }
}
