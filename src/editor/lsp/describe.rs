//! Kinds and attributes in words: what hover and completion show.

use std::fmt::Write;

use super::words::Word;
use crate::model::catalog::Catalog;
use crate::model::schema::{
    Attribute, Format, Kind, Literal, OnChange, Presence, Price, Registry, ReplaceOrder, Type,
};
use crate::model::value::Value;

/// Most names of a list in a text.
const MOST_NAMES: usize = 12;

/// Returns a type in a few words.
pub(super) fn type_words(ty: &Type) -> String {
    match ty {
        Type::Boolean => "true or false".to_owned(),
        Type::Integer { min, max, unit } => {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let bounds = match (*min, *max) {
                (i64::MIN, i64::MAX) => String::new(),
                (min, i64::MAX) => format!(" from {min}"),
                (min, max) => format!(" from {min} to {max}"),
            };
            format!("whole number{bounds}{unit}")
        }
        Type::Decimal => "decimal number".to_owned(),
        Type::Text { format, .. } => format_words(*format).to_owned(),
        Type::Enum(words) => one_of(words.iter().copied()),
        Type::Labelled(words) => one_of(words.iter().map(|(word, _)| *word)),
        Type::Reference(kind) => format!("reference to a {kind}"),
        Type::Catalog(table) => format!("name of the catalog `{table}`"),
        Type::List(of) => format!("list of: {}", type_words(of)),
        Type::Set { of, .. } => format!("set of: {}", type_words(of)),
        Type::Map(of) => format!("map of: {}", type_words(of)),
        Type::Record(fields) => {
            format!("map with {}", fields.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
    }
}

fn one_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.collect();
    let shown = words.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if words.len() > MOST_NAMES { format!("one of {shown}, …") } else { format!("one of {shown}") }
}

fn format_words(format: Format) -> &'static str {
    match format {
        Format::Any | Format::PathName => "text",
        Format::Cidr4 | Format::AllowedCidr4 => "IPv4 network, such as 10.0.0.0/16",
        Format::SshPublicKey => "OpenSSH public key",
        Format::DatabaseUser => "login",
        Format::Timestamp => "time, RFC 3339",
        Format::HttpPath => "path of a web address",
        Format::Cron => "cron schedule of five fields",
        Format::TimeZone => "IANA time zone",
        Format::ClockTime => "time of the day, HH:MM",
        Format::Domain => "host name",
        Format::Email => "mail address",
        Format::Taint => "taint, key=value:Effect",
        Format::Directory => "directory below the stack's own",
    }
}

/// Returns who sets an attribute, in a word or two.
pub(super) fn presence_words(attribute: &Attribute) -> String {
    match attribute.presence {
        Presence::Required => "required".to_owned(),
        Presence::Optional => "optional".to_owned(),
        Presence::Default(literal) => match literal {
            Literal::Empty => "default none".to_owned(),
            literal => format!("default {}", literal.value()),
        },
        Presence::Computed => "set by the service".to_owned(),
        Presence::WriteOnly => "never returned".to_owned(),
    }
}

/// Returns what a change of an attribute means.
pub(super) fn change_words(kind: &Kind, attribute: &Attribute) -> String {
    let way = match attribute.change {
        OnChange::Patch { .. } | OnChange::Switch(_) | OnChange::Link { .. } => "A change is made in place",
        OnChange::Upload { .. } => "A change is uploaded, in place",
        OnChange::Replace => match kind.replace {
            ReplaceOrder::Never => "It cannot be changed",
            ReplaceOrder::CreateFirst => "A change **replaces** the object: the new one comes first",
            ReplaceOrder::DeleteFirst => "A change **replaces** the object: the old one goes first",
        },
        OnChange::Never => return String::new(),
    };
    let mut text = way.to_owned();
    for effect in attribute.effects {
        let _ = write!(text, "; {}", effect.text());
    }
    text.push('.');
    if attribute.grow_only {
        text.push_str(" It can only grow.");
    }
    text
}

/// Returns an attribute for people, as Markdown.
pub(super) fn attribute(kind: &Kind, attribute: &Attribute) -> String {
    let mut text = format!(
        "**{}.{}** · {} · {}\n\n{}",
        kind.name,
        attribute.name,
        type_words(&attribute.ty),
        presence_words(attribute),
        attribute.summary
    );
    let change = change_words(kind, attribute);
    if !change.is_empty() {
        let _ = write!(text, "\n\n{change}");
    }
    if attribute.secret {
        text.push_str("\n\nSecret: only a fingerprint of it is remembered.");
    }
    text
}

/// Returns a kind for people, as Markdown.
pub(super) fn kind(registry: &Registry, kind: &Kind) -> String {
    let mut text = format!("**{}**\n\n{}", kind.name, kind.summary);
    let required: Vec<&str> = kind
        .attributes
        .iter()
        .filter(|attribute| attribute.presence == Presence::Required)
        .map(|attribute| attribute.name)
        .collect();
    if !required.is_empty() {
        let _ = write!(text, "\n\nRequired: {}.", required.join(", "));
    }
    let inside: Vec<&str> =
        registry.children(kind.name).filter_map(Kind::child_of).map(|(_, key)| key).collect();
    if !inside.is_empty() {
        let _ = write!(text, "\n\nInside of it: {}.", inside.join(", "));
    }
    if kind.data_bearing {
        text.push_str("\n\nIt holds data that cannot be made again.");
    }
    text
}

/// Returns a word of the language for people, as Markdown.
pub(super) fn word((word, summary): &Word) -> String {
    format!("**{word}**\n\n{summary}")
}

/// Returns what a catalog name costs a month, where the lock has its record.
pub(super) fn price(kind: &Kind, attribute: &Attribute, name: &str, catalog: &Catalog) -> Option<String> {
    let Type::Catalog(table) = attribute.ty else { return None };
    let Price::Sum(terms) = kind.price else { return None };
    let record = catalog.find(table, &Value::text(name))?;
    let term = terms.iter().find(|term| term.table == table && term.chosen_by == Some(attribute.name))?;
    let price = record.number(term.field)?;
    let each = if term.factors.is_empty() { "" } else { " each" };
    Some(format!("{} USD a month{each}", price.normalize()))
}
