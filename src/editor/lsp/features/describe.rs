//! Descriptions of kinds, attributes and keywords for hover and completion, as Markdown.

use std::fmt::Write;

use crate::config::keywords::Keyword;
use crate::editor::facts;
use crate::model::live::catalog::Catalog;
use crate::model::schema::{
    Attribute, Kind, Presence, Price, Registry, Type, UpdateStrategy, format_money,
};
use crate::model::values::value::Value;

/// Returns the description of an attribute, as Markdown.
pub(in crate::editor::lsp) fn describe_attribute(kind: &Kind, attribute: &Attribute) -> String {
    let mut text = format!(
        "**{}.{}** · {} · {}\n\n{}",
        kind.name,
        attribute.name,
        facts::type_name(&attribute.ty),
        facts::short_presence(attribute),
        attribute.summary
    );
    if let Some(limits) = facts::describe_limits(&attribute.ty) {
        let _ = write!(text, " Takes {limits}.");
    }
    if let Some(change) = facts::describe_change(attribute) {
        let _ = write!(text, "\n\n{change}");
    }
    if attribute.change == UpdateStrategy::Replace {
        let _ = write!(text, " {}.", facts::describe_replacement(kind));
    }
    if attribute.secret {
        text.push_str("\n\nSecret: only its fingerprint is recorded.");
    }
    text
}

/// Returns the description of a kind, as Markdown.
pub(in crate::editor::lsp) fn describe_kind(registry: &Registry, kind: &Kind) -> String {
    let mut text = format!("**{}**\n\n{}", kind.name, kind.summary);
    let required: Vec<&str> = kind
        .attributes
        .iter()
        // The block's own name is the default for `name`.
        .filter(|attribute| attribute.presence == Presence::Required && attribute.name != "name")
        .map(|attribute| attribute.name)
        .collect();
    if !required.is_empty() {
        let _ = write!(text, "\n\nRequired: {}.", required.join(", "));
    }
    let inside: Vec<&str> =
        registry.children(kind.name).filter_map(Kind::child_of).map(|(_, key)| key).collect();
    if !inside.is_empty() {
        let _ = write!(text, "\n\nChild blocks: {}.", inside.join(", "));
    }
    if kind.data_bearing {
        text.push_str("\n\nIt holds data that cannot be recreated.");
    }
    text
}

/// Returns the description of a keyword with its example, as Markdown.
pub(in crate::editor::lsp) fn word_markdown(word: &Keyword) -> String {
    let mut text = format!("**{}**\n\n{}", word.name, facts::describe_word(word));
    if !word.example.is_empty() {
        let _ = write!(text, "\n\n```yaml\n{}\n```", word.example);
    }
    text
}

/// Returns the monthly price of a catalog name; `None` if the catalog has no record of it, or the kind's price does
/// not depend on it.
pub(in crate::editor::lsp) fn price_text(
    kind: &Kind,
    attribute: &Attribute,
    name: &str,
    catalog: &Catalog,
) -> Option<String> {
    let Type::Catalog(table) = attribute.ty else { return None };
    let Price::Sum(terms) = kind.price else { return None };
    let record = catalog.find(table, &Value::text(name))?;
    let term = terms.iter().find(|term| term.table == table && term.chosen_by == Some(attribute.name))?;
    let price = record.number(term.field)?;
    let each = if term.factors.is_empty() { "" } else { " each" };
    Some(format!("{} a month{each}", format_money(price)))
}
