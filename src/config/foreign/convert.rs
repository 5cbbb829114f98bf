//! From another tool's text to a stack's.

use super::draft::Draft;
use super::fields::Fields;
use super::{app_spec, compose, render};
use crate::config::codes;
use crate::config::document::Syntax;
use crate::config::layout;
use crate::config::yaml;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId};

/// Another tool's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Docker Compose.
    Compose,
    /// Render's blueprint.
    Render,
    /// DigitalOcean's app spec.
    AppSpec,
}

/// A stack made of another tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The stack's file.
    pub text: String,
    /// What could not be carried over, a sentence each.
    pub left_out: Vec<String>,
}

/// Makes a stack of another tool's file.
///
/// # Errors
/// When the file is no YAML, or holds nothing of that tool.
pub fn convert(
    source: &Source,
    origin: Origin,
    stack: &str,
    to: Syntax,
    registry: &Registry,
) -> Result<Converted, Box<Diagnostic>> {
    let document = yaml::parse(SourceId(0), source).map_err(|problems| {
        let first = problems.into_iter().next();
        Box::new(first.unwrap_or_else(|| Diagnostic::error(codes::FOREIGN, "this file cannot be read")))
    })?;
    let mut draft = Draft::default();
    let root = Fields::root(&document.root);
    let (what, found) = match origin {
        Origin::Compose => ("Compose file with `services`", compose::read(&root, &mut draft)),
        Origin::Render => ("blueprint with `services` or `databases`", render::read(&root, &mut draft)),
        Origin::AppSpec => ("app spec with components", app_spec::read(&root, &mut draft)),
    };
    if !found {
        return Err(Box::new(
            Diagnostic::error(codes::FOREIGN, "this file is not what it was said to be")
                .detail(format!("It is no {what}."))
                .help("say what it is with --from compose, --from render or --from app-spec"),
        ));
    }
    let mark = if to == Syntax::Yaml { "#" } else { "//" };
    let (entries, left_out) = draft.finish(stack, registry);
    let mut text = String::new();
    if !left_out.is_empty() {
        text.extend([mark, " Not carried over:\n"]);
        for note in &left_out {
            text.extend([mark, " - ", &note.replace(char::is_control, " "), "\n"]);
        }
        text.push('\n');
    }
    text.push_str(&layout::write(to, &entries, registry));
    Ok(Converted { text, left_out })
}

#[cfg(test)]
mod tests;
