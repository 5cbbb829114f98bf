//! `ConfigLiteral`: a value to write, and its notation in each syntax. In: a value; out: YAML or KDL, quoted
//! and indented. Nothing here knows the file that it is written to, but for its indentation and line ending.

use granit_parser::ScalarStyle;

use crate::config::resolve::template;
use crate::config::syntax::quoting;
use crate::model::address::Name;
use crate::model::values::value::Value;

/// Maximum width in bytes of a line with properties.
const MAX_LINE_WIDTH: usize = 100;

/// Value as a file writes it; strings may contain `$paths` and `${…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigLiteral {
    /// The value `null`, which unsets an attribute.
    Null,
    /// The literal `true` or `false`.
    Boolean(bool),
    /// A number in decimal digits, as written.
    Number(Name),
    /// A string, not quoted; it may contain an expression.
    Text(Name),
    /// Values of a list, in order.
    List(Vec<ConfigLiteral>),
    /// A map in the order written.
    Map(Vec<(Name, ConfigLiteral)>),
}

impl ConfigLiteral {
    /// Returns the literal that means a value, with dollars escaped; `None` for secrets and unknown
    /// values, at any depth.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Boolean(*value),
            Value::Integer(_) | Value::Decimal(_) => Self::Number(value.to_string().into()),
            Value::Text(text) => Self::Text(template::escape_literal(text).into()),
            Value::List(items) => Self::List(items.iter().map(Self::from_value).collect::<Option<_>>()?),
            Value::Map(map) => Self::Map(
                map.iter()
                    .map(|(key, value)| Some((key.clone(), Self::from_value(value)?)))
                    .collect::<Option<_>>()?,
            ),
            Value::Secret(_) | Value::Unknown(_) => return None,
        })
    }

    /// Returns a string literal that may contain expressions: dollars are not escaped.
    #[must_use]
    pub fn text(text: impl Into<Name>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a map literal with these entries, in order.
    #[must_use]
    pub fn map<'k>(entries: impl IntoIterator<Item = (&'k str, ConfigLiteral)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (Name::new(key), value)).collect())
    }

    /// Returns whether the literal is neither a list nor a map.
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Map(_))
    }

    /// Returns the literal nested below keys: `[a, b]` gives `{ a: { b: … } }`.
    pub(super) fn nest_under(self, keys: &[Name]) -> Self {
        keys.iter().rev().fold(self, |value, key| Self::Map(vec![(key.clone(), value)]))
    }
}

/// Returns a literal on one line of YAML; `flow`: it is inside brackets, where more characters need quotes.
pub(super) fn yaml_inline(literal: &ConfigLiteral, flow: bool) -> String {
    let each = |literal: &ConfigLiteral| yaml_inline(literal, true);
    match literal {
        ConfigLiteral::Null => "null".to_owned(),
        ConfigLiteral::Boolean(value) => value.to_string(),
        ConfigLiteral::Number(number) => number.to_string(),
        ConfigLiteral::Text(text) => quoting::quote_yaml(text, flow),
        ConfigLiteral::List(items) => {
            format!("[{}]", items.iter().map(each).collect::<Vec<_>>().join(", "))
        }
        ConfigLiteral::Map(entries) if entries.is_empty() => "{}".to_owned(),
        ConfigLiteral::Map(entries) => {
            let entry = |(key, value): &(Name, ConfigLiteral)| {
                format!("{}: {}", quoting::quote_yaml(key, true), each(value))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Layout of the lines in a YAML or KDL file.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndentStyle<'l> {
    /// Indentation of one level.
    pub(super) step: &'l str,
    /// Line ending: `\n` or `\r\n`.
    pub(super) end: &'l str,
}

/// Returns a YAML entry, its further lines indented as far as its first.
pub(super) fn yaml_entry(
    key: &str,
    literal: &ConfigLiteral,
    indent: &str,
    layout: IndentStyle<'_>,
) -> String {
    let key = quoting::quote_yaml(key, false);
    match literal {
        ConfigLiteral::Map(entries) if !entries.is_empty() => {
            let inner = format!("{indent}{}", layout.step);
            format!("{key}:{}{inner}{}", layout.end, yaml_lines(literal, &inner, layout))
        }
        ConfigLiteral::List(items) if items.iter().any(|item| !item.is_scalar()) => {
            let inner = format!("{indent}{}", layout.step);
            format!("{key}:{}{inner}{}", layout.end, yaml_lines(literal, &inner, layout))
        }
        inline => format!("{key}: {}", yaml_inline(inline, false)),
    }
}

/// Returns a collection as lines of YAML, indented by `indent`; the first line without its indentation.
pub(super) fn yaml_lines(literal: &ConfigLiteral, indent: &str, layout: IndentStyle<'_>) -> String {
    let between = format!("{}{indent}", layout.end);
    match literal {
        ConfigLiteral::Map(entries) if !entries.is_empty() => {
            let entry = |(key, value): &(Name, ConfigLiteral)| yaml_entry(key, value, indent, layout);
            entries.iter().map(entry).collect::<Vec<_>>().join(&between)
        }
        ConfigLiteral::List(items) if !items.is_empty() => {
            let inner = format!("{indent}  ");
            let item = |item| format!("- {}", yaml_lines(item, &inner, layout));
            items.iter().map(item).collect::<Vec<_>>().join(&between)
        }
        inline => yaml_inline(inline, false),
    }
}

/// Returns a scalar in KDL.
pub(super) fn kdl_word(literal: &ConfigLiteral) -> String {
    match literal {
        ConfigLiteral::Boolean(value) => format!("#{value}"),
        ConfigLiteral::Number(number) => number.to_string(),
        ConfigLiteral::Text(text) => quoting::quote_kdl(text),
        ConfigLiteral::Null | ConfigLiteral::List(_) | ConfigLiteral::Map(_) => "#null".to_owned(),
    }
}

/// Returns what follows a node's name in KDL, with a leading space. `head` is the line so far; `listed`: a
/// single value here means a list.
pub(super) fn kdl_tail(
    head: &str,
    literal: &ConfigLiteral,
    listed: bool,
    indent: &str,
    layout: IndentStyle<'_>,
) -> String {
    match literal {
        ConfigLiteral::List(items) if items.is_empty() && listed => String::new(),
        ConfigLiteral::List(items) if items.is_empty() => " \"${[]}\"".to_owned(),
        ConfigLiteral::List(items)
            if items.iter().all(ConfigLiteral::is_scalar) && (listed || items.len() > 1) =>
        {
            [""].into_iter()
                .map(str::to_owned)
                .chain(items.iter().map(kdl_word))
                .collect::<Vec<_>>()
                .join(" ")
        }
        ConfigLiteral::List(items) => {
            let inner = format!("{indent}{}", layout.step);
            let item = |item| format!("-{}", kdl_tail("-", item, false, &inner, layout));
            kdl_block(&items.iter().map(item).collect::<Vec<_>>(), indent, layout)
        }
        ConfigLiteral::Map(entries) => kdl_map(head, entries, indent, layout),
        scalar => format!(" {}", kdl_word(scalar)),
    }
}

/// Returns a map in KDL: scalars as properties while the line has room for them, the rest as a block.
fn kdl_map(head: &str, entries: &[(Name, ConfigLiteral)], indent: &str, layout: IndentStyle<'_>) -> String {
    if entries.is_empty() {
        return " {}".to_owned();
    }
    let (mut properties, mut children) = (String::new(), Vec::new());
    let inner = format!("{indent}{}", layout.step);
    for (key, value) in entries {
        let property = format!(" {}={}", quoting::quote_kdl(key), kdl_word(value));
        let room = indent.len() + head.len() + properties.len() + property.len() <= MAX_LINE_WIDTH;
        if value.is_scalar() && room && children.is_empty() {
            properties.push_str(&property);
        } else {
            children.push(kdl_node(key, value, false, &inner, layout));
        }
    }
    if children.is_empty() {
        properties
    } else {
        format!("{properties}{}", kdl_block(&children, indent, layout))
    }
}

/// Returns a node of KDL, its further lines indented as far as its first.
pub(super) fn kdl_node(
    key: &str,
    literal: &ConfigLiteral,
    listed: bool,
    indent: &str,
    layout: IndentStyle<'_>,
) -> String {
    let name = quoting::quote_kdl(key);
    let tail = kdl_tail(&name, literal, listed, indent, layout);
    format!("{name}{tail}")
}

fn kdl_block(nodes: &[String], indent: &str, layout: IndentStyle<'_>) -> String {
    let IndentStyle { step, end } = layout;
    let lines = nodes.join(&format!("{end}{indent}{step}"));
    format!(" {{{end}{indent}{step}{lines}{end}{indent}}}")
}

pub(super) fn has_parts(literal: &ConfigLiteral) -> bool {
    match literal {
        ConfigLiteral::Map(entries) => !entries.is_empty(),
        ConfigLiteral::List(items) => !items.is_empty(),
        _ => false,
    }
}

/// Returns a string in the quotes that another one had; block scalars and plain ones are quoted only where needed.
pub(super) fn quote_in_style(text: &str, style: ScalarStyle, flow: bool) -> String {
    match style {
        ScalarStyle::SingleQuoted if !text.chars().any(quoting::needs_escape) => quoting::yaml_single(text),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => quoting::yaml_double(text),
        _ => quoting::quote_yaml(text, flow),
    }
}
