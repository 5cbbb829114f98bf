//! Final form of suggestions: written in the syntax of the file, and marked as certain only if no other meaning
//! is possible, because `stead validate --fix` applies all certain ones. In: diagnostics with hints in YAML;
//! out: the same diagnostics.

use super::flow_style::{self, FlowValue};
use crate::config::keywords;
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::syntax_of;
use crate::config::syntax::quoting;
use crate::model::diagnostic::{Diagnostic, SuggestedEdit};
use crate::model::schema::Registry;
use crate::model::source::Sources;

/// Prefix of a hint that is a guess.
const GUESS_PREFIX: &str = "did you mean ";
/// Separator between the YAML form of a suggestion and its KDL form.
const KDL_PREFIX: &str = " (KDL: ";
/// From this length on, a word with one wrong character is certain to be a misspelling.
const MIN_CHARS_ONE_TYPO: usize = 4;
/// From this length on, a word with two wrong characters is certain to be a misspelling.
const MIN_CHARS_TWO_TYPOS: usize = 9;

/// Converts the suggestions of all problems to their final form.
pub(in crate::config) fn apply_suggestions(
    registry: &Registry,
    sources: &Sources,
    problems: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    problems.into_iter().map(|problem| translate_suggestion(registry, sources, problem)).collect()
}

/// Returns a hint with its suggestions in the syntax of a file, by the file's name; YAML for an unknown one.
#[must_use]
pub fn hint_in_syntax(registry: &Registry, file: &str, help: &str) -> String {
    match syntax_of(file) {
        Some(Syntax::Kdl) => in_kdl(registry, &one_form(help, Syntax::Kdl)),
        _ => one_form(help, Syntax::Yaml),
    }
}

fn translate_suggestion(registry: &Registry, sources: &Sources, mut problem: Diagnostic) -> Diagnostic {
    let guessed = problem.help.as_deref().is_some_and(|help| help.starts_with(GUESS_PREFIX));
    let written = |fix: &SuggestedEdit| {
        let text = &sources.get(fix.span.source)?.text;
        text.get(fix.span.start as usize..fix.span.end as usize).map(str::to_owned)
    };
    let sure = |fix: &SuggestedEdit| {
        let old = written(fix).unwrap_or_default();
        !is_word(registry, strip_quotes(&old))
            && is_sure(strip_quotes(&old), strip_quotes(&fix.replacement))
    };
    problem.fix =
        problem.fix.map(|fix| SuggestedEdit { sure: fix.sure && (!guessed || sure(&fix)), ..fix });
    let source = problem.span().and_then(|span| sources.get(span.source));
    let Some(syntax) = source.and_then(|source| syntax_of(&source.path)) else { return problem };
    problem.help = problem.help.map(|help| one_form(&help, syntax));
    if syntax == Syntax::Kdl {
        problem.help = problem.help.map(|help| in_kdl(registry, &help));
        problem.fix = problem.fix.map(|fix| match written(&fix) {
            Some(old) => SuggestedEdit { replacement: kdl_value(&old, &fix.replacement), ..fix },
            None => fix,
        });
    }
    problem
}

/// Returns whether the language has a word: then it is not a misspelling, but in the wrong place.
fn is_word(registry: &Registry, written: &str) -> bool {
    let tables =
        [keywords::TOP, keywords::BODY, keywords::LIFECYCLE, keywords::VARIABLE, keywords::ENVIRONMENT];
    tables.iter().any(|words| keywords::find_word(words, written).is_some())
        || registry.kinds.iter().any(|kind| kind.name == written || kind.attribute(written).is_some())
}

/// Returns whether a word can only be a misspelling of `meant`. Different digits are not one:
/// `std-2c-4g` is not `std-1c-4g`.
fn is_sure(written: &str, meant: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    if plain(written) == plain(meant) {
        return true;
    }
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let length = written.chars().count();
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let most = match length {
        MIN_CHARS_TWO_TYPOS.. => 2,
        MIN_CHARS_ONE_TYPO.. => 1,
        // One missing letter, or two that are swapped.
        3 if meant.chars().count() == 4 || sorted(written) == sorted(meant) => 1,
        _ => return false,
    };
    digits(written) == digits(meant) && strsim::damerau_levenshtein(written, meant) <= most
}

fn strip_quotes(text: &str) -> &str {
    let text = text.trim_matches('#');
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Keeps the one of two forms that the file's syntax has; a hint without a KDL form stays as it is.
fn one_form(help: &str, syntax: Syntax) -> String {
    let Some((before, rest)) = help.split_once(KDL_PREFIX) else { return help.to_owned() };
    // The KDL form in parentheses is enclosed in backquotes.
    let Some((other, after)) = rest.split_once("`)") else { return help.to_owned() };
    let first = before.strip_suffix('`').and_then(|text| text.rsplit_once('`'));
    match (syntax, first) {
        (Syntax::Kdl, Some((before, _))) => format!("{before}{other}`{after}"),
        _ => format!("{before}{after}"),
    }
}

/// Converts the suggestions in a hint, which are between backquotes, to KDL.
fn in_kdl(registry: &Registry, help: &str) -> String {
    let mut text = String::with_capacity(help.len());
    for (n, part) in help.split('`').enumerate() {
        if n > 0 {
            text.push('`');
        }
        let is_quoted = n % 2 == 1;
        match flow_style::parse_entry(part).filter(|_| is_quoted) {
            Some((key, value)) => text.push_str(&yaml_entry_to_kdl(registry, key, &value)),
            None if is_quoted && part.starts_with("\"${") => text.push_str(&yaml_scalar_to_kdl(part)),
            None => text.push_str(part),
        }
    }
    text
}

/// Writes an entry as KDL does.
fn yaml_entry_to_kdl(registry: &Registry, key: &str, value: &FlowValue<'_>) -> String {
    let names_blocks =
        |key: &str| matches!(key, "use" | "KIND") || registry.top_level().any(|kind| kind.name == key);
    match value {
        FlowValue::Map(entries) => match entries.as_slice() {
            [(name, inner @ FlowValue::Map(_))] if names_blocks(key) => {
                format!("{key} {}", yaml_entry_to_kdl(registry, name, inner))
            }
            entries if entries.iter().all(|(_, value)| matches!(value, FlowValue::Scalar(_))) => {
                let properties = entries.iter().filter_map(|(key, value)| match value {
                    FlowValue::Scalar(text) => Some(format!(" {key}={}", yaml_scalar_to_kdl(text))),
                    _ => None,
                });
                format!("{key}{}", properties.collect::<String>())
            }
            entries => {
                let inner: Vec<_> =
                    entries.iter().map(|(key, value)| yaml_entry_to_kdl(registry, key, value)).collect();
                format!("{key} {{ {} }}", inner.join("; "))
            }
        },
        FlowValue::List(items) => match items.as_slice() {
            [map @ FlowValue::Map(_)] => yaml_entry_to_kdl(registry, key, map),
            items => {
                let items = items.iter().filter_map(|item| match item {
                    FlowValue::Scalar(text) => Some(format!(" {}", yaml_scalar_to_kdl(text))),
                    _ => None,
                });
                format!("{key}{}", items.collect::<String>())
            }
        },
        FlowValue::Scalar(text) => format!("{key} {}", yaml_scalar_to_kdl(text)),
    }
}

/// Returns a YAML scalar as KDL.
fn yaml_scalar_to_kdl(text: &str) -> String {
    match text {
        "true" | "false" | "null" => format!("#{text}"),
        "…" => text.to_owned(),
        _ if quoting::is_number(text) => text.to_owned(),
        _ => quoting::quote_kdl(&strip_quotes(text).replace("\\\"", "\"")),
    }
}

/// Converts the replacement `new` of `old` to KDL, if it is a whole value and not a part of one.
fn kdl_value(old: &str, new: &str) -> String {
    let is_value = old.starts_with(['"', '#']) && old != "#";
    if is_value || new.starts_with(['"', '\'']) || matches!(new, "true" | "false" | "null") {
        yaml_scalar_to_kdl(new)
    } else {
        new.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn only_an_unambiguous_misspelling_is_corrected_automatically() {
        for (written, meant, sure) in [
            ("mian", "main", true),
            ("Template", "template", true),
            ("storage-gb", "storage_gb", true),
            ("healthcheck_pth", "health_check_path", true),
            ("ulr", "url", true),
            ("nam", "name", true),
            ("UTC+2", "UTC", false),
            ("std-1c-2g", "std-2c-2g", false),
            ("vpn", "vpc", false),
        ] {
            assert_eq!(is_sure(written, meant), sure, "{written}");
        }
        assert!(
            is_word(&REGISTRY, "protect") && is_word(&REGISTRY, "template") && !is_word(&REGISTRY, "mian")
        );
    }

    #[test]
    fn hints_use_the_syntax_of_the_file() {
        for (help, kdl) in [
            ("write `lifecycle: { protect: true }`", "write `lifecycle protect=#true`"),
            ("add `size: …`", "add `size …`"),
            ("write `for_each: [a, b]`", "write `for_each a b`"),
            ("zero or one by `when: \"${…}\"`", "zero or one by `when \"${…}\"`"),
            ("write `timeouts: { create: 30m }`", "write `timeouts create=\"30m\"`"),
            ("write `moved: [{ from: …, to: … }]`", "write `moved from=… to=…`"),
            ("use `use: { NAME: { source: … } }`", "use `use NAME source=…`"),
            ("as in `KIND: { NAME: { … } }`", "as in `KIND NAME { … }`"),
            ("write `app: { NAME: { domains: { … } } }`", "write `app NAME { domains { … } }`"),
            ("put `stack: NAME` (KDL: `stack NAME`) into it", "put `stack NAME` into it"),
            ("did you mean `$vpc.main`?", "did you mean `$vpc.main`?"),
        ] {
            assert_eq!(in_kdl(&REGISTRY, &one_form(help, Syntax::Kdl)), kdl, "{help}");
        }
        let both = "put `stack: NAME` (KDL: `stack NAME`) into it";
        assert_eq!(one_form(both, Syntax::Yaml), "put `stack: NAME` into it");
    }

    #[test]
    fn suggestions_in_kdl_are_written_as_kdl() {
        for (old, new, wanted) in [
            ("\"yes\"", "true", "#true"),
            ("\"10.0.0.1/16\"", "10.0.0.0/16", "\"10.0.0.0/16\""),
            ("\"/a\"", "'/b'", "\"/b\""),
            ("20GB", "20", "20"),
            ("=", "==", "=="),
            ("and", "&&", "&&"),
            ("yes", "true", "#true"),
            ("main.x", "main", "main"),
        ] {
            assert_eq!(kdl_value(old, new), wanted, "{old}");
        }
    }
}
