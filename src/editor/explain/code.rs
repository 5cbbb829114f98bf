//! Codes of diagnostics: meaning, source of the rule, and examples that violate and follow it. The codes are declared
//! in the kinds' rules, in `config` and in the parser's limits.

use serde::Serialize;

use super::examples::{self, Example};
use super::exposure::exposure_codes;
use crate::config::codes as config_codes;
use crate::config::syntax::limits;
use crate::model::schema::{Registry, find_exposure};

/// The reference page for the code of a diagnostic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodePage {
    /// The code, such as `R0301`.
    pub code: &'static str,
    /// Meaning of the code, as a sentence.
    pub meaning: &'static str,
    /// Phase in which stead reports the code, as a sentence.
    pub found: &'static str,
    /// Kind that the rule belongs to; `None` for a code of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Heading of the specification or the contract that states the rule; `None` for a code of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<&'static str>,
    /// What to do about it, in sentences; `None` where an example shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
    /// Examples that violate the rule and follow it, at most two; empty if there is none.
    pub examples: Vec<Example>,
}

/// Returns all codes of diagnostics, sorted.
#[must_use]
pub fn all_codes(registry: &Registry) -> Vec<&'static str> {
    codes_with_summaries(registry).into_iter().map(|(code, _)| code).collect()
}

/// Returns all codes with their meanings, sorted.
pub(super) fn codes_with_summaries(registry: &Registry) -> Vec<(&'static str, &'static str)> {
    let rules = registry.kinds.iter().flat_map(|kind| kind.rules).map(|rule| (rule.code, rule.says));
    let of_files = config_codes::CODES.iter().chain(limits::CODES).map(|code| (code.code, code.meaning));
    let exposures = exposure_codes(registry).into_iter();
    let exposures = exposures.filter_map(|code| Some((code, find_exposure(registry, code)?.0.meaning)));
    let mut all: Vec<_> = rules.chain(of_files).chain(exposures).collect();
    all.sort_unstable();
    all
}

/// Returns the page for a code in upper case; `None` if the code is unknown.
pub(super) fn code_page(registry: &Registry, code: &str) -> Option<CodePage> {
    for kind in registry.kinds {
        if let Some(rule) = kind.rules.iter().find(|rule| rule.code == code) {
            return Some(CodePage {
                code: rule.code,
                meaning: rule.says,
                found: "A rule of the service: found while the configuration is checked, or by the plan, which knows the live objects. Nothing was sent.",
                kind: Some(kind.name),
                place: Some(rule.place),
                remedy: None,
                examples: examples::examples_of(code),
            });
        }
    }
    if let Some((exposure, kinds)) = find_exposure(registry, code) {
        return Some(CodePage {
            code: exposure.code,
            meaning: exposure.meaning,
            found: "By the plan, and by `drift` of the live objects. It warns, and blocks nothing.",
            kind: kinds.first().copied(),
            place: None,
            remedy: Some(exposure.remedy),
            examples: examples::examples_of(code),
        });
    }
    let known = config_codes::CODES.iter().find(|known| known.code == code);
    let (code, meaning, found) = if let Some(known) = known {
        (known.code, known.meaning, "Found while the configuration is read, without any request.")
    } else {
        let known = limits::CODES.iter().find(|known| known.code == code)?;
        (known.code, known.meaning, "Found while a file is parsed, before anything else.")
    };
    Some(CodePage {
        code,
        meaning,
        found,
        kind: None,
        place: None,
        remedy: None,
        examples: examples::examples_of(code),
    })
}
