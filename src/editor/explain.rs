//! `explain`: reference pages for kinds, attributes, keywords of the language, functions and codes.
//!
//! All content comes from the registry and from tables of the program; no request is sent to a service.

mod code;
mod examples;
mod exposure;
mod fact;
mod function;
mod kind;
mod plan_code;
mod word;

use serde::Serialize;

pub use self::code::{CodePage, all_codes};
pub use self::examples::Example;
pub use self::exposure::{ExposurePage, ExposureRow};
pub use self::fact::FactPage;
pub use self::function::FunctionPage;
pub use self::kind::{AttributePage, AttributeRow, ChildRow, KindPage, OperationRow};
pub use self::plan_code::PlanCodePage;
pub use self::word::KeywordPage;
use crate::config::keywords::{MAP, find_word};
use crate::model::diagnostic::nearest_name;
use crate::model::schema::{Attribute, Kind, Registry, Type};

/// The reference page for one subject.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "subject", rename_all = "snake_case")]
pub enum ExplainPage {
    /// A kind of resource.
    Kind(KindPage),
    /// An attribute of a kind, or a part of one, such as `app.autoscaling.min_replicas`.
    Attribute(AttributePage),
    /// The code of a diagnostic.
    Code(CodePage),
    /// A keyword or block of the language.
    Word(KeywordPage),
    /// A function for expressions.
    Function(FunctionPage),
    /// The code of a blocker or of an effect in a plan.
    PlanCode(PlanCodePage),
    /// All exposures.
    Exposures(ExposurePage),
    /// A fact that the condition of a policy can read.
    Fact(FactPage),
}

/// The error for an unknown subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTopic {
    /// The subject, and why there is no page for it.
    pub message: String,
    /// The nearest subject, or how to find one.
    pub help: String,
}

/// Returns the page for a subject: `database`, `database.plan`, `database.users.name`, `R0301`,
/// `lifecycle.protect`, `environments.set`, `cidr_subnet`, `data_loss`. Codes ignore case, and a `$` before a path is
/// ignored. If two subjects have a name, codes and kinds win.
///
/// # Errors
/// When no subject has this name.
pub fn explain_subject(registry: &Registry, subject: &str) -> Result<ExplainPage, UnknownTopic> {
    if let Some(page) = code::code_page(registry, &subject.to_ascii_uppercase()) {
        return Ok(ExplainPage::Code(page));
    }
    let mut steps = subject.trim_start_matches('$').split('.');
    let first = steps.next().unwrap_or_default();
    let rest: Vec<&str> = steps.collect();
    match registry.kind(first) {
        // `policy.NAME` is the block of a policy, but a policy has hardly the name of a fact with an error in it.
        None if is_misspelled_fact(registry, subject) => Err(unknown_subject(registry, subject, first)),
        Some(kind) => explain_path(registry, kind, &rest),
        None => explain_other(registry, subject).ok_or_else(|| unknown_subject(registry, subject, first)),
    }
}

/// Returns the page for a keyword, a plan code, a function, or a nested keyword, in this order; `None` if
/// nothing has this name. `exists` is the blocker, `exists()` the function.
fn explain_other(registry: &Registry, subject: &str) -> Option<ExplainPage> {
    let bare = subject.trim_start_matches('$');
    if ["exposure", "exposures"].contains(&bare) {
        return Some(ExplainPage::Exposures(exposure::exposure_page(registry)));
    }
    let fact = fact::fact_page(registry, bare).map(ExplainPage::Fact);
    let word = fact.or_else(|| word::word_page(bare).map(ExplainPage::Word));
    let function = || function::function_page(bare).map(ExplainPage::Function);
    let code = || plan_code::plan_code_page(&bare.to_ascii_lowercase()).map(ExplainPage::PlanCode);
    // If an attribute has the same name, the subject could mean either one.
    let is_attribute = registry.kinds.iter().any(|kind| kind.attribute(bare).is_some());
    let inner = || word::inner_page(bare).filter(|_| !is_attribute).map(ExplainPage::Word);
    word.or_else(code).or_else(function).or_else(inner)
}

fn explain_path(
    registry: &Registry,
    kind: &'static Kind,
    steps: &[&str],
) -> Result<ExplainPage, UnknownTopic> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(ExplainPage::Kind(kind::kind_page(registry, kind)));
    };
    if let Some(attribute) = kind.attribute(step).or_else(|| on_the_wire(kind, step)) {
        // Keywords that an open map accepts besides its keys.
        if let (Type::Map(_), [word]) = (attribute.ty, rest)
            && let Some(page) = find_word(MAP, word).and_then(|word| word::word_page(word.name))
        {
            return Ok(ExplainPage::Word(page));
        }
        return kind::attribute_page(kind, attribute, rest)
            .map(ExplainPage::Attribute)
            .ok_or_else(|| no_part(kind, attribute, rest));
    }
    if let Some(child) = registry.child(kind.name, step) {
        return explain_path(registry, child, rest);
    }
    // Child blocks that are also allowed here: the page of their own kind describes them.
    if let Some(child) = registry.kinds.iter().find(|child| is_also_in(child, kind, step)) {
        return explain_path(registry, child, rest);
    }
    if let Some(page) = word::word_page(&steps.join(".")) {
        return Ok(ExplainPage::Word(page));
    }
    let known: Vec<&str> = member_names(registry, kind).collect();
    let help = match nearest_name(step, known.iter().copied()) {
        Some(near) => format!("Did you mean {}.{near}?", kind.name),
        None => format!("It has {}.", known.join(", ")),
    };
    Err(UnknownTopic { message: format!("a {} has no `{step}`", kind.name), help })
}

/// Returns whether blocks of a child kind are also allowed under a key of this kind's block.
fn is_also_in(child: &Kind, kind: &Kind, key: &str) -> bool {
    child.also_in.is_some_and(|also| also.kind == kind.name && also.key == key)
}

/// Finds an attribute by its name in the API: `vpc_id` for the attribute `vpc`.
fn on_the_wire(kind: &'static Kind, name: &str) -> Option<&'static Attribute> {
    kind.attributes.iter().find(|attribute| attribute.wire == name || attribute.returned == name)
}

/// Returns the names of a kind's attributes and child collections.
fn member_names<'r>(
    registry: &'r Registry,
    kind: &'static Kind,
) -> impl Iterator<Item = &'static str> + 'r {
    let collections = registry.children(kind.name).filter_map(|child| child.child_of().map(|(_, at)| at));
    let also = registry.kinds.iter().filter_map(|child| child.also_in);
    let also = also.filter(|also| also.kind == kind.name).map(|also| also.key);
    kind.attributes.iter().map(|attribute| attribute.name).chain(collections).chain(also)
}

fn no_part(kind: &Kind, attribute: &Attribute, rest: &[&str]) -> UnknownTopic {
    let path = format!("{}.{}", kind.name, attribute.name);
    let wanted = rest.join(".");
    let parts = kind::part_keys(attribute);
    let help = match nearest_name(&wanted, parts.iter().copied()) {
        Some(near) => format!("Did you mean {path}.{near}?"),
        None if parts.is_empty() => format!("It is one value: stead explain {path}"),
        None => format!("It has {}.", parts.join(", ")),
    };
    UnknownTopic { message: format!("{path} has no `{wanted}`"), help }
}

/// Returns whether a subject is nearly a fact of policies, or one without its path, and neither one nor a keyword inside a
/// policy.
fn is_misspelled_fact(registry: &Registry, subject: &str) -> bool {
    let bare = subject.trim_start_matches('$');
    let Some(name) = bare.strip_prefix("policy.") else { return false };
    let is_nested_word = || word::nested_word_paths().iter().any(|(path, _)| path == bare);
    let is_near = || fact::nearest_fact(bare).is_some() || !fact::facts_named(name).is_empty();
    fact::fact_page(registry, bare).is_none() && is_near() && !is_nested_word()
}

fn unknown_subject(registry: &Registry, subject: &str, first: &str) -> UnknownTopic {
    let message = format!("unknown topic `{subject}`");
    let bare = subject.trim_start_matches('$');
    let facts = fact::facts_named(bare.strip_prefix("policy.").unwrap_or(bare));
    if !facts.is_empty() && bare.contains('.') {
        return UnknownTopic { message, help: format!("Give its full path: {}", facts.join(", ")) };
    }
    if subject.starts_with("policy.") {
        let help = match fact::nearest_fact(subject) {
            Some(near) => format!("Did you mean {near}?"),
            None => "The facts of policies: stead docs policy-facts".to_owned(),
        };
        return UnknownTopic { message, help };
    }
    let kinds = registry.kinds.iter().map(|kind| kind.name);
    let codes = all_codes(registry);
    let known = kinds.chain(word::word_names());
    if let Some(near) = nearest_name(first, known.clone()) {
        let rest = subject.strip_prefix(first).unwrap_or_default();
        let help = if near == first {
            format!("{first} exists, but has no `{}`: stead explain {first}", rest.trim_start_matches('.'))
        } else {
            format!("Did you mean {near}{rest}?")
        };
        return UnknownTopic { message, help };
    }
    let plans = plan_code::plan_code_names();
    let functions = function::all_functions().into_iter().map(|(name, _)| name);
    if let Some(near) = nearest_name(first, functions.chain(plans.iter().map(String::as_str))) {
        return UnknownTopic { message, help: format!("Did you mean {near}?") };
    }
    if let Some(near) = nearest_name(&subject.to_ascii_uppercase(), codes.iter().copied()) {
        return UnknownTopic { message, help: format!("Did you mean {near}?") };
    }
    // The name of an attribute, given without its kind; or a nested keyword, given without the first ones.
    let kinds = registry.kinds.iter().filter(|kind| kind.attribute(first).is_some());
    let words: Vec<String> = word::nested_word_paths().into_iter().map(|(way, _)| way).collect();
    let ends_with = |wanted: &str| {
        let end = format!(".{wanted}");
        words.iter().filter(move |way| way.ends_with(&end)).cloned().collect::<Vec<String>>()
    };
    let whole = ends_with(subject.trim_start_matches('$'));
    if !whole.is_empty() && subject.contains('.') {
        return UnknownTopic { message, help: format!("Give its full path: {}", whole.join(", ")) };
    }
    let inner = ends_with(first).into_iter();
    let of: Vec<String> = kinds.map(|kind| format!("{}.{first}", kind.name)).chain(inner).collect();
    let help = if of.is_empty() {
        "Give a kind, KIND.ATTRIBUTE, a keyword or a code; stead explain lists them.".to_owned()
    } else {
        format!("Give its full path: {}.", of.join(", "))
    };
    UnknownTopic { message, help }
}

/// All subjects that consist of one word, by category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainIndex {
    /// Kinds, each with its summary, in the registry's order.
    pub kinds: Vec<(&'static str, &'static str)>,
    /// Keywords and blocks of the language, each with its summary.
    pub words: Vec<(&'static str, &'static str)>,
    /// Functions for expressions, each with its summary.
    pub functions: Vec<(&'static str, &'static str)>,
    /// Codes of diagnostics, each with its meaning, sorted.
    pub codes: Vec<(&'static str, &'static str)>,
    /// Codes of plans, each with its meaning, sorted.
    pub plan_codes: Vec<(String, String)>,
}

/// Returns the subjects of the facts that a policy can read, such as `policy.now`.
#[must_use]
pub fn policy_facts() -> Vec<String> {
    fact::fact_subjects()
}

/// Returns all codes of plans, those of blockers and of effects, sorted.
#[must_use]
pub fn plan_codes() -> Vec<String> {
    plan_code::plan_code_names()
}

/// Returns the page of a code of plans, also if a keyword or a kind has the same name; `None` if it is unknown.
#[must_use]
pub fn explain_plan_code(code: &str) -> Option<ExplainPage> {
    plan_code::plan_code_page(code).map(ExplainPage::PlanCode)
}

/// Returns all nested keywords, each with its full path and summary.
#[must_use]
pub fn inner_words() -> Vec<(String, &'static str)> {
    word::nested_word_paths()
}

/// Returns all subjects that consist of one word.
#[must_use]
pub fn build_index(registry: &Registry) -> ExplainIndex {
    ExplainIndex {
        kinds: registry.kinds.iter().map(|kind| (kind.name, kind.summary)).collect(),
        words: word::all_words(),
        functions: function::all_functions(),
        codes: code::codes_with_summaries(registry),
        plan_codes: plan_code::plan_code_names()
            .into_iter()
            .filter_map(|code| plan_code::plan_code_page(&code).map(|page| (code, page.meaning)))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
