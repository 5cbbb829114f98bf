//! Descriptions of attributes from the schema tables: type, default, limits, and the effect of a change.
//!
//! The JSON schema of stacks, `explain` and the language server take their descriptions from here, so that they agree.

use crate::config::keywords::{self, Keyword, KeywordValue};
use crate::model::schema::{
    ApiCall, Attribute, Effect, Kind, Literal, Presence, Provenance, ReplaceOrder, TextFormat, Type,
    UpdateStrategy,
};

/// Returns the readable name of a type, without an article: `whole number`, `set, each entry: IPv4 network …`.
#[must_use]
pub fn type_name(ty: &Type) -> String {
    match ty {
        Type::Boolean => "true or false".to_owned(),
        Type::Integer { unit: "", .. } => "whole number".to_owned(),
        Type::Integer { unit, .. } => format!("whole number ({unit})"),
        Type::Decimal => "number".to_owned(),
        Type::Text { format, .. } => describe_format(*format).unwrap_or("text").to_owned(),
        Type::Enum(words) => format!("one of {}", words.join(", ")),
        Type::Labelled(words) => {
            format!("one of {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "))
        }
        Type::Reference(kind) => format!("reference to a {kind}"),
        Type::Catalog(table) => format!("name or id of the catalog's table {table}"),
        Type::List(of) => format!("list, each entry: {}", type_name(of)),
        Type::Set { of, .. } => format!("set, each entry: {}", type_name(of)),
        Type::Map(of) => format!("map, each value: {}", type_name(of)),
        Type::Record(fields) => {
            let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
            format!("map with {}", names.join(", "))
        }
    }
}

/// Returns the description of a string format, without an article; `None` if any string is allowed.
#[must_use]
pub const fn describe_format(format: TextFormat) -> Option<&'static str> {
    Some(match format {
        TextFormat::Any => return None,
        TextFormat::Cidr4 => "IPv4 network such as 10.20.0.0/16",
        TextFormat::AllowedCidr4 => "IPv4 network such as 203.0.113.0/24, not 0.0.0.0/0",
        TextFormat::SshPublicKey => "one OpenSSH public key line",
        TextFormat::DatabaseUser => "login name: a-z, 0-9 and _, not beginning with app_ or fnb_",
        TextFormat::Timestamp => "RFC 3339 time",
        TextFormat::HttpPath => "path that begins with a slash",
        TextFormat::Cron => "cron schedule of five fields",
        TextFormat::TimeZone => "time zone such as Europe/Paris",
        TextFormat::ClockTime => "time of the day, HH:MM",
        TextFormat::Domain => "domain such as shop.example.com",
        TextFormat::Email => "mail address",
        TextFormat::Taint => "taint such as dedicated=batch:NoSchedule",
        TextFormat::PathName => "name without slashes",
        TextFormat::Directory => "directory below the stack's own",
    })
}

/// Returns the limits of a type's values as text; `None` if there are none to mention.
#[must_use]
pub fn describe_limits(ty: &Type) -> Option<String> {
    match ty {
        Type::Integer { min, max: i64::MAX, unit } => {
            Some(format!("at least {min} {unit}").trim().to_owned())
        }
        Type::Integer { min, max, unit } => Some(format!("{min} to {max} {unit}").trim().to_owned()),
        Type::Text { min, max, .. } => match (min, max) {
            (0, max) => Some(format!("at most {max} characters")),
            (min, max) => Some(format!("{min} to {max} characters")),
        },
        Type::Set { of, max } => {
            let each = describe_limits(of).map(|each| format!(", each {each}")).unwrap_or_default();
            Some(format!("at most {max} entries{each}"))
        }
        Type::List(of) | Type::Map(of) => describe_limits(of).map(|each| format!("each {each}")),
        Type::Record(fields) => {
            let of = |(name, ty): &(&str, Type)| Some(format!("{name}: {}", describe_limits(ty)?));
            let parts: Vec<_> = fields.iter().filter_map(of).collect();
            (!parts.is_empty()).then(|| parts.join("; "))
        }
        Type::Boolean
        | Type::Decimal
        | Type::Enum(_)
        | Type::Labelled(_)
        | Type::Reference(_)
        | Type::Catalog(_) => None,
    }
}

/// Returns a phrase on whether an attribute is required, optional or set by the service.
#[must_use]
pub const fn describe_presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Required => "must be written",
        Presence::Optional => "may be written; otherwise the live value is left alone",
        Presence::Default(_) => "may be written; null resets it to the default",
        Presence::Computed => "set by the service; read it by reference",
        Presence::WriteOnly => "may be written; the service never shows it",
    }
}

/// Returns a short phrase on whether an attribute is required, optional or set by the service.
#[must_use]
pub fn short_presence(attribute: &Attribute) -> String {
    match attribute.presence {
        Presence::Required => "required".to_owned(),
        Presence::Optional => "optional".to_owned(),
        Presence::Default(literal) => format!("default {}", render_literal(literal)),
        Presence::Computed => "set by the service".to_owned(),
        Presence::WriteOnly => "never returned".to_owned(),
    }
}

/// Returns an attribute's default in the syntax of the language; `None` if it has none.
#[must_use]
pub fn default_text(attribute: &Attribute) -> Option<String> {
    match attribute.presence {
        Presence::Default(literal) => Some(render_literal(literal)),
        _ => None,
    }
}

/// Returns a literal of the schema tables in the syntax of the language.
#[must_use]
pub fn render_literal(literal: Literal) -> String {
    match literal {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Integer(number) => number.to_string(),
        Literal::Text("") => "\"\"".to_owned(),
        Literal::Text(text) => text.to_owned(),
        Literal::Empty => "[]".to_owned(),
    }
}

/// Returns how a change of an attribute is made and its effects, as a sentence; `None` if the
/// configuration cannot set it.
#[must_use]
pub fn describe_change(attribute: &Attribute) -> Option<String> {
    let mut sentence = match attribute.change {
        UpdateStrategy::Never => return None,
        UpdateStrategy::Replace => "A change replaces the object".to_owned(),
        UpdateStrategy::Upload { .. } => "A change uploads the directory again".to_owned(),
        UpdateStrategy::Patch { .. } | UpdateStrategy::Switch(_) | UpdateStrategy::Link { .. } => {
            "A change is made in place".to_owned()
        }
    };
    if attribute.grow_only {
        sentence.push_str(", and it can only grow");
    }
    if let Some(field) = attribute.catalog_grow_only {
        sentence.extend([", and its ", field, " can only grow"]);
    }
    for effect in attribute.effects {
        sentence.push_str("; ");
        sentence.push_str(Effect::text(*effect));
    }
    for (value, effect) in attribute.effects_to {
        sentence.extend(["; to `", value, "`: ", Effect::text(*effect)]);
    }
    sentence.push('.');
    Some(sentence)
}

/// Returns the order of creation and deletion in a replacement, as a sentence without its full stop.
#[must_use]
pub const fn describe_replacement(kind: &Kind) -> &'static str {
    match kind.replace {
        ReplaceOrder::CreateFirst => "The new object is created first, then the old one is deleted",
        ReplaceOrder::DeleteFirst => "The old object is deleted first, then the new one is created",
        ReplaceOrder::Never => "The replacement is refused",
    }
}

/// Returns the description of a keyword, with the values or keywords that it takes.
#[must_use]
pub fn describe_word(word: &Keyword) -> String {
    let listed = |words| keywords::word_names(words).collect::<Vec<_>>().join(", ");
    match word.takes {
        KeywordValue::OneOf(words @ [_, _, ..]) => format!("{} One of {}.", word.summary, listed(words)),
        KeywordValue::Block(words @ [_, ..]) => format!("{} It has {}.", word.summary, listed(words)),
        KeywordValue::Named(words @ [_, ..]) => format!("{} Each has {}.", word.summary, listed(words)),
        _ => word.summary.to_owned(),
    }
}

/// Returns the API requests that change an attribute, as method and path; empty if none does.
#[must_use]
pub fn wire_calls(attribute: &Attribute) -> Vec<String> {
    let mut calls: Vec<String> = attribute.calls().into_iter().map(wire_call).collect();
    calls.dedup();
    calls
}

fn wire_call(call: &ApiCall) -> String {
    format!("{} {}{}", call.endpoint.method, call.endpoint.path, assumed_suffix(call.endpoint.provenance))
}

/// Returns ` (assumed)` for a fact that the service's specification does not document; else an empty string.
#[must_use]
pub const fn assumed_suffix(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Documented => "",
        Provenance::Assumed => " (assumed)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn types_limits_and_changes_are_described_in_sentences() {
        let said = |kind: &str, name: &str| {
            let attribute = REGISTRY.kind(kind).unwrap().attribute(name).unwrap();
            (type_name(&attribute.ty), describe_limits(&attribute.ty), describe_change(attribute))
        };
        assert_eq!(
            said("database", "storage_gb"),
            (
                "whole number (GB)".into(),
                Some("1 to 65536 GB".into()),
                Some(
                    "A change is made in place, and it can only grow; the difference is charged or credited \
                     at once."
                        .into()
                ),
            )
        );
        assert_eq!(said("vpc", "status").2, None);
        assert_eq!(said("vpc", "cidr").2.as_deref(), Some("A change replaces the object."));
        assert_eq!(
            said("database", "public_allowlist").1.as_deref(),
            Some("at most 20 entries, each 9 to 18 characters")
        );
    }

    #[test]
    fn every_attribute_has_a_complete_sentence() {
        for kind in REGISTRY.kinds {
            for attribute in kind.attributes {
                assert!(!type_name(&attribute.ty).is_empty());
                assert_eq!(
                    describe_change(attribute).is_some(),
                    attribute.is_writable(),
                    "{}.{}",
                    kind.name,
                    attribute.name
                );
            }
        }
    }
}
