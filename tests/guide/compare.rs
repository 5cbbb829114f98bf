//! Whether an output is the one that a page shows: times, ids, fingerprints, addresses, numbers of requests and the width of
//! columns aside.

use std::sync::LazyLock;

use regex::Regex;

/// What differs from run to run, and what stands for it.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\x1b\[[0-9;]*m", ""),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
        (r"\b[0-9a-f]{64}\b", "<digest>"),
        (r"\bage1[0-9a-z]+", "<recipient>"),
        (r"\bk_[0-9A-Za-z_]+|\bsk_[0-9A-Za-z_]+", "<key>"),
        (r"\b[0-9a-f]{4}-[0-9a-f]{4}\b", "<fingerprint>"),
        (r"\b[0-9a-f]{8}\b", "<id>"),
        (r"\b[0-9a-f]{12}\b", "<commit>"),
        (r"\b[a-z0-9]{8}\.(db|app|apps|k8s)\.", "<short>.$1."),
        (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?", "<time>"),
        (r"\b\d{4}-\d{2}-\d{2}\b", "<date>"),
        (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})?\b", "<date>"),
        (r"\b\d{2}:\d{2}:\d{2}Z?", "<clock>"),
        (r"\b(config|commit) `?[0-9a-f]{7,40}\b`?", "$1 <commit>"),
        (r"(~|about )?\b\d+(\.\d+)? ?(ms|s|min|h)\b( \d+ s\b)?", "<duration>"),
        (r"\b(just now|<duration> ago|\d+ (seconds?|minutes?|hours?) ago)", "<age>"),
        (r"\b198\.(18|19)\.\d+\.\d+\b", "<address>"),
        (r"\b(127\.0\.0\.1|localhost):\d+\b", "<host>"),
        (r"[\w.-]+@[\w.-]+", "<actor>"),
        (r"\bpid \d+\b", "pid <number>"),
        // An object that is not ready yet is read alone: how many are, depends on the machine.
        (r"\b\d+ requests?\b", "<number> requests"),
        (r"[ \t]+", " "),
    ]
    .into_iter()
    .map(|(pattern, stand_in)| (Regex::new(pattern).unwrap(), stand_in))
    .collect()
});

/// Replaces what differs from run to run.
fn normalize(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, stand_in) in VARYING.iter() {
        text = pattern.replace_all(&text, *stand_in).into_owned();
    }
    text
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Returns whether an output is the one that is shown. `…` alone on a line stands for any lines, also for none.
pub fn is_as_shown(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (normalize(shown), normalize(printed));
    let printed = words(&printed);
    let mut parts: Vec<String> = vec![String::new()];
    for line in shown.lines() {
        if matches!(line.trim(), "…" | "...") {
            parts.push(String::new());
        } else {
            let part = parts.last_mut().unwrap();
            part.push_str(line);
            part.push('\n');
        }
    }
    let parts: Vec<Vec<&str>> = parts.iter().map(|part| words(part)).collect();
    let (first, rest) = parts.split_first().unwrap();
    if !printed.starts_with(first) {
        return false;
    }
    let Some((last, middle)) = rest.split_last() else { return printed.len() == first.len() };
    let mut at = first.len();
    for part in middle {
        let found = (at..=printed.len().saturating_sub(part.len()))
            .find(|start| printed[*start..].starts_with(part));
        let Some(found) = found else { return false };
        at = found + part.len();
    }
    printed.len() >= at + last.len() && printed.ends_with(last)
}

/// Returns whether some lines of an output are left out of what is shown.
pub fn has_omission(shown: &str) -> bool {
    shown.lines().any(|line| matches!(line.trim(), "…" | "..."))
}

#[test]
fn outputs_are_compared_without_times_ids_and_widths() {
    let shown = "Applied: 18 done · 7s\n…\nweb  [198.18.0.10]\n";
    assert!(is_as_shown(shown, "Applied: 18 done · 12s\nOutputs\n  x 1\n  web     [198.18.3.1]\n"));
    assert!(!is_as_shown(shown, "Applied: 17 done · 12s\nOutputs\n  web     [198.18.3.1]\n"));
    assert!(!is_as_shown(shown, "Applied: 18 done · 12s\nweb [198.18.3.1] and more\n"));
    assert!(!is_as_shown("a\nb\n", "a\nb\nc\n") && is_as_shown("a b\n", "a\n  b"));
    assert!(is_as_shown("a\n…\nb\n…\nc\n", "a x b c") && !is_as_shown("a\n…\nb\n…\nc\n", "a x c"));
    assert!(is_as_shown("…\n", "") && !is_as_shown("…\nx\n", ""));
}
