//! `stead eval EXPR`: evaluates an expression in the scope of the stack's outputs. Reads files only, so attributes
//! that the service computes are unknown.

use clap::Args;
use serde::Serialize;

use super::render::display_value;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::model::address::Address;
use crate::model::expression::Expression;
use crate::model::values::value::Value;
use crate::report::json::{self, JsonValue};
use crate::report::text::escape;

/// Command-line arguments of `stead eval`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead eval '$locals.host'\n  stead eval -e prod 'vars.nodes.size() + 1'\n  \
    stead eval 'values(vm.web).map(v, v.name)'\n\nUnknown and secret values are shown as such."
)]
pub struct EvalArgs {
    /// A reference ($vars.x), or an expression with or without ${ and }
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
}

/// JSON output of `eval`.
#[derive(Serialize)]
struct EvalDocument<'v> {
    schema_version: json::SchemaVersion,
    /// The value; if it is unknown, the remaining expression; a secret is redacted.
    value: JsonValue<'v>,
    known: bool,
    /// Addresses that an unknown value depends on; empty for a known one.
    waits_for: Vec<&'v str>,
}

/// Prints the value of an expression. An unknown value is not an error.
///
/// # Errors
/// When the stack or the expression has problems.
pub(in crate::cli) fn run(session: &CommandContext, args: &EvalArgs) -> Result<Exit, CliFailure> {
    let expression = session.evaluate_expression(&args.expression)?;
    let value = display_value(&expression);
    let known = matches!(&expression, Expression::Value(value) if !value.is_unknown());
    let waits_for: Vec<&str> = expression.addresses().into_iter().map(Address::as_str).collect();
    let ui = &session.ui;
    if ui.json {
        let document = EvalDocument {
            schema_version: json::SCHEMA_VERSION,
            value: JsonValue(&value),
            known,
            waits_for,
        };
        ui.write_result(&json::to_pretty(&document));
        return Ok(Exit::Done);
    }
    let text = match &value {
        Value::Text(text) => escape::escape_line(text).into_owned(),
        value => escape::escape_line(&value.to_string()).into_owned(),
    };
    ui.write_result(&format!("{text}\n"));
    if !known && !waits_for.is_empty() {
        let names: Vec<&str> = waits_for.iter().take(10).copied().collect();
        ui.write_message(&format!("known only after its object is read or created: {}", names.join(", ")));
    }
    Ok(Exit::Done)
}
