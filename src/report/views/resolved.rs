//! The resolved configuration: each value with its location and its origin.

use crate::model::source::SourceLocation;
use crate::model::values::value::Value;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// A resolved value of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigValue {
    /// Address and attribute of the value.
    pub path: String,
    /// The value; if it is unknown, the remaining expression as text.
    pub value: Value,
    /// Location in the source; `None` if the value is not written there.
    pub place: Option<SourceLocation>,
    /// What decided the value besides the text at `place`, such as `vars.size, set by environments.prod`; `None` if
    /// that text alone does.
    pub by: Option<String>,
    /// Whether the value is not written but derived from the block's name.
    pub default: bool,
    /// The modules that the value comes from, each with the location of its use, innermost first.
    pub calls: Vec<(String, Option<SourceLocation>)>,
}

/// Returns all values as a table, with the keys of the JSON document.
#[must_use]
pub fn resolved_table(values: &[ConfigValue]) -> ReportTable {
    let columns = vec![
        TableColumn::text("path"),
        TableColumn::text("value"),
        TableColumn::text("source"),
        TableColumn::text("set_by"),
        TableColumn::text("module"),
    ];
    let row = |value: &ConfigValue| {
        vec![
            TableCell::Text(value.path.clone()),
            TableCell::Value(value.value.clone()),
            TableCell::text(value.place.as_ref().map(display_location)),
            TableCell::text(value_origin(value)),
            TableCell::text(
                value.calls.first().map(|(module, place)| describe_module_call(module, place.as_ref())),
            ),
        ]
    };
    ReportTable { rows: values.iter().map(row).collect(), columns }
}

/// Returns all values as text.
#[must_use]
pub fn resolved_page(values: &[ConfigValue], style: TextStyle) -> String {
    resolved_table(values).to_text("The stack is empty.", style)
}

/// Returns the origin of each value, one line per step.
#[must_use]
pub fn provenance_page(values: &[ConfigValue], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for value in values {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, &value.path)
                .push_text(" = ")
                .push_text(value.value.to_string()),
        );
        if let Some(place) = &value.place {
            let word = if value.default { "by the name of the block" } else { "written" };
            page.add_line(TextLine::indent(2).push_text(format!("{word} at {}", display_location(place))));
        }
        if let Some(by) = &value.by {
            // The text for a variable already begins with `set by`.
            let text = if by.starts_with("set by ") { by.clone() } else { format!("decided by {by}") };
            page.add_line(TextLine::indent(2).push_text(text));
        }
        for (module, place) in &value.calls {
            page.add_line(
                TextLine::indent(2)
                    .push_text(format!("in the module {}", describe_module_call(module, place.as_ref()))),
            );
        }
    }
    page.finish()
}

fn value_origin(value: &ConfigValue) -> Option<String> {
    if value.default { Some("default".to_owned()) } else { value.by.clone() }
}

fn describe_module_call(module: &str, place: Option<&SourceLocation>) -> String {
    match place {
        Some(place) => format!("{module}, used at {}", display_location(place)),
        None => module.to_owned(),
    }
}

fn display_location(place: &SourceLocation) -> String {
    format!("{}:{}", place.file, place.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_evaluation_is_listed() {
        let place = |line| Some(SourceLocation { file: "m/stead.yaml".into(), line, column: 1 });
        let values = [
            ConfigValue {
                path: "east.vm.web.plan".into(),
                value: Value::text("std-1c-2g"),
                place: place(3),
                by: Some("vars.plan, given by use.east".into()),
                default: false,
                calls: vec![("east".into(), place(9))],
            },
            ConfigValue {
                path: "vm.web.name".into(),
                value: Value::text("web"),
                place: place(1),
                by: None,
                default: true,
                calls: Vec::new(),
            },
        ];
        insta::assert_snapshot!(provenance_page(&values, TextStyle::plain(100)), @r#"
    east.vm.web.plan = std-1c-2g
      written at m/stead.yaml:3
      decided by vars.plan, given by use.east
      in the module east, used at m/stead.yaml:9
    vm.web.name = web
      by the name of the block at m/stead.yaml:1
    "#);
        insta::assert_snapshot!(resolved_page(&values, TextStyle::plain(100)), @r#"
    PATH              VALUE      SOURCE          SET_BY                        MODULE
    east.vm.web.plan  std-1c-2g  m/stead.yaml:3  vars.plan, given by use.east  east, used at
                                                      m/stead.yaml:9
    vm.web.name       web        m/stead.yaml:1  default
    "#);
    }
}
