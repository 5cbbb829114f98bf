//! The hidden line with the units that a comment approves: written into the report of many units, and read from the comment
//! for the command that applies exactly those.

use crate::model::address::is_legal_segment;

/// Beginning of the hidden line with the units that a comment approves.
const UNITS_PREFIX: &str = "<!-- stead-units:";

/// Limit on the bytes of the hidden line: a command line has the names, too.
const MAX_UNITS_BYTES: usize = 8_000;

/// Returns the hidden line with the units that a comment approves, for the command that applies them; empty if there are
/// none, or too many for a command line.
pub(in crate::report::review::formats) fn units_line(names: &[String]) -> String {
    let names = names.join(" ");
    // Two dashes could end the HTML comment.
    if names.is_empty() || names.len() > MAX_UNITS_BYTES || names.contains("--") {
        return String::new();
    }
    format!("{UNITS_PREFIX}{names} -->\n")
}

/// Returns the names of the units that a comment approves; empty if it has none. Only the hidden lines before everything
/// that a stack controls are read, and only names that a shell takes as they are.
#[must_use]
pub fn units_of(report: &str) -> Vec<&str> {
    let hidden = report.lines().take(3).take_while(|line| line.starts_with("<!-- stead"));
    let mut found =
        hidden.filter_map(|line| line.trim_end().strip_prefix(UNITS_PREFIX)?.strip_suffix(" -->"));
    let names: Vec<&str> = found.next().map(|names| names.split(' ').collect()).unwrap_or_default();
    let is_name = |name: &&str| {
        name.split_once('/')
            .is_some_and(|(stack, environment)| is_legal_segment(stack) && is_legal_segment(environment))
    };
    if names.iter().all(is_name) { names } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_hidden_lines_only() {
        let line = units_line(&["net/prod".to_owned(), "app/prod".to_owned()]);
        let report = format!("<!-- stead:all -->\n{line}### x\n");
        assert_eq!(units_of(&report), ["net/prod", "app/prod"]);
        let with_head = format!("<!-- stead:all -->\n<!-- stead-head:abc -->\n{line}### x\n");
        assert_eq!(units_of(&with_head), ["net/prod", "app/prod"]);
        for forged in [
            format!("<!-- stead:all -->\n### x\n{line}"),
            "<!-- stead:all -->\n<!-- stead-units:net/prod --yes -->\n".to_owned(),
            "<!-- stead:all -->\n<!-- stead-units:*/prod -->\n".to_owned(),
            "<!-- stead:all -->\n<!-- stead-units:$(id)/prod -->\n".to_owned(),
        ] {
            assert!(units_of(&forged).is_empty(), "{forged}");
        }
        let many: Vec<String> = (0..2_000).map(|number| format!("stack{number}/prod")).collect();
        assert_eq!((units_line(&many), units_line(&[])), (String::new(), String::new()));
    }
}
