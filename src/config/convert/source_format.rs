//! `convert_foreign_file`: converts another tool's file to a stack's file. In: the file, its format and the
//! syntax to write; out: the stack's file, what was left out, and the variables that need a value.

use super::draft::StackDraft;
use super::fields::FieldReader;
use super::{app_spec, compose, render_blueprint};
use crate::config::codes;
use crate::config::format;
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::byte_span;
use crate::config::syntax::yaml;
use crate::model::address::is_legal_segment;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId, Span};

/// Format of a file of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    /// Docker Compose: `compose.yaml` with `services`.
    Compose,
    /// Render's blueprint: `render.yaml` with a list of services.
    Render,
    /// DigitalOcean's app spec, bare or below `spec`.
    AppSpec,
}

/// Result of a conversion: the stack's file, and what is left for the user to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedStack {
    /// Content of the stack's file in the requested syntax. Comments at its start repeat what was left out.
    pub text: String,
    /// One sentence for each field that could not be converted, with its file and line, in the order of the
    /// file; empty if all were.
    pub left_out: Vec<String>,
    /// Names of the process environment variables that must give the stack's variables their values (`STEAD_VAR_…`).
    pub needed: Vec<String>,
}

/// Converts another tool's file to a stack. `stack` is its name where the file does not have a legal one.
///
/// # Errors
/// When the file is not YAML, or contains nothing of that tool that can be converted.
pub fn convert_foreign_file(
    source: &Source,
    origin: SourceFormat,
    stack: &str,
    to: Syntax,
    registry: &Registry,
) -> Result<ConvertedStack, Box<Diagnostic>> {
    let document = yaml::parse(SourceId(0), source).map_err(|problems| {
        let first = problems.into_iter().next();
        Box::new(first.unwrap_or_else(|| Diagnostic::error(codes::FOREIGN, "this file cannot be read")))
    })?;
    let mut draft = StackDraft::default();
    let root = FieldReader::from_entries(&document.root, byte_span(SourceId(0), 0, 0));
    // DigitalOcean's app template wraps the spec in a `spec` key.
    let inner = root.map("spec").filter(|_| origin == SourceFormat::AppSpec);
    let root = inner.unwrap_or(root);
    let (what, found) = match origin {
        SourceFormat::Compose => ("Compose file with `services`", compose::read_compose(&root, &mut draft)),
        SourceFormat::Render => (
            "blueprint with `services`, `databases` or `projects`",
            render_blueprint::read_blueprint(&root, &mut draft),
        ),
        SourceFormat::AppSpec => ("app spec with components", app_spec::read_app_spec(&root, &mut draft)),
    };
    if !found {
        return Err(Box::new(
            Diagnostic::error(codes::FOREIGN, "this file does not have the expected format")
                .detail(format!("It does not contain the expected {what}."))
                .help("name its format with --from compose, --from render or --from app-spec"),
        ));
    }
    let left_out = draft.left_out();
    if draft.is_empty() {
        return Err(Box::new(nothing_to_convert(&left_out)));
    }
    let place = |path: &str| {
        let at = |at: &Span| source.line_column(at.start).0;
        let line = |(place, note): &(Span, String)| format!("{path}:{}: {note}", at(place));
        left_out.iter().map(|left| line(left).replace(char::is_control, " ")).collect::<Vec<String>>()
    };
    // The converted file is committed, so it must not contain the directory on this machine.
    let here = place(source.path.rsplit(['/', '\\']).next().unwrap_or_default());
    let left_out = place(&source.path);
    let needed: Vec<String> = draft
        .required_variables()
        .iter()
        .map(|name| format!("STEAD_VAR_{}", name.to_uppercase()))
        .collect();
    let name = root.text("name").filter(|name| is_legal_segment(name));
    let entries = draft.into_entries(name.unwrap_or(stack), registry);
    let mark = if to == Syntax::Yaml { "#" } else { "//" };
    let mut text = String::new();
    for (title, lines) in [("Not carried over:", &here), ("To be given:", &needed)] {
        if !lines.is_empty() {
            text.extend([mark, " ", title, "\n"]);
            text.extend(lines.iter().flat_map(|line| [mark, " - ", line, "\n"]));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format::write_new_file(to, &entries, registry));
    Ok(ConvertedStack { text, left_out, needed })
}

/// Returns the diagnostic that a file contains no service or database that can be converted, with the first ten
/// fields that were left out.
fn nothing_to_convert(left_out: &[(Span, String)]) -> Diagnostic {
    let problem = Diagnostic::error(codes::FOREIGN, "no part of this file can be converted");
    let problem = problem.detail("It has no service, worker, job or database that has a counterpart.");
    left_out.iter().take(10).fold(problem, |problem, (at, note)| problem.with_label(*at, note.clone()))
}

#[cfg(test)]
mod tests;
