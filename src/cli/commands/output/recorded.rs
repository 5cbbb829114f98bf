//! The outputs that a ledger has, as a command shows them. In: a ledger, and what is asked for. Out: outputs with the text of
//! the secrets that are to be shown, or the reason why there are none.

use crate::cli::ledger::ledger_io;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::secrets::identity;
use crate::cli::secrets::kept_secrets::{self, Keyring};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unit_header::UnitHeader;
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::model::values::value::Value;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::phrases;

/// Limit on the width of the column of names; a longer name shifts its own line only.
const MAX_NAME_WIDTH: usize = 32;

/// Which outputs are asked for.
pub(super) struct OutputQuery {
    /// The only one; `None` for all.
    pub(super) name: Option<Name>,
    /// Whether the text of secrets is shown.
    pub(super) show: bool,
}

/// A recorded output; `text` is that of a secret that is to be shown.
pub(in crate::cli) struct RecordedOutput {
    pub(in crate::cli) name: Name,
    pub(in crate::cli) value: Value,
    /// The value with null for each secret, for documents.
    pub(in crate::cli) public: Value,
    pub(in crate::cli) text: Option<String>,
}

/// The recorded outputs of a stack in an environment.
pub(in crate::cli) struct RecordedOutputs {
    pub(in crate::cli) stack: Name,
    pub(in crate::cli) environment: Name,
    pub(in crate::cli) outputs: Vec<RecordedOutput>,
}

/// Reads the outputs that the last apply of a unit recorded, or the requested one; with the text of secrets if it is requested.
///
/// # Errors
/// When the unit was never applied, its ledger cannot be read, there is no such output, or the text of the requested one is not
/// known.
pub(super) async fn read_outputs(
    unit: &UnitHeader<'_>,
    query: &OutputQuery,
) -> Result<RecordedOutputs, CliFailure> {
    let ledger = ledger_io::find_ledger(unit, &unit.ledger_location()?).await?;
    let recorded = ledger.as_ref().and_then(|ledger| Some((ledger, ledger.outputs.as_ref()?)));
    let Some((ledger, outputs)) = recorded else { return Err(never_applied(unit)) };
    if let Some(name) = query.name.as_ref().filter(|name| !outputs.contains_key(*name)) {
        return Err(no_such_output(unit, name, outputs.keys()));
    }
    let wanted = outputs.iter().filter(|(name, _)| query.name.as_ref().is_none_or(|only| only == *name));
    let keyring = Keyring::new(unit.settings);
    let read = |(name, value): (&Name, &Value)| {
        let required = query.name.is_some();
        let text = match value {
            Value::Secret(_) if query.show => secret_text(&keyring, ledger, name, required)?,
            value if query.show && required && value.is_secret() => return Err(nested_secret(name)),
            _ => None,
        };
        let public = without_secrets(value);
        Ok(RecordedOutput { name: name.clone(), value: value.clone(), public, text })
    };
    let outputs: Vec<RecordedOutput> = wanted.map(read).collect::<Result<_, CliFailure>>()?;
    if outputs.iter().any(|output| output.text.is_some()) {
        kept_secrets::warn_unauthenticated(keyring.settings(), ledger);
    }
    let UnitHeader { stack, environment, .. } = unit.clone();
    Ok(RecordedOutputs { stack, environment, outputs })
}

/// Returns the text of a secret output; `None` if the ledger does not keep it, unless it is `required`.
fn secret_text(
    keyring: &Keyring<'_>,
    ledger: &Ledger,
    name: &Name,
    required: bool,
) -> Result<Option<String>, CliFailure> {
    let address = format!("{OUTPUT_PREFIX}{name}");
    let Some(kept) = ledger.secrets.values.get(address.as_str()) else {
        let help = if ledger.secrets.recipients.is_empty() {
            "Add `secrets: { recipients: [age1…] }` to the stack, and apply it: then it does."
        } else {
            "Apply the stack with an identity that decrypts its secrets, in STEAD_AGE_IDENTITY: then it does."
        };
        let what = format!("the ledger does not keep the text of the output `{name}`");
        let failure = CliFailure::new(Exit::Failed, what).help(help);
        return if required { Err(failure) } else { Ok(None) };
    };
    let identities = identity::require_identities(keyring.settings())?;
    let secret = ledger.decrypt_secret(&identities, &address, &kept.current);
    let secret = secret.map_err(|error| kept_secrets::unusable_secret(&address, &error))?;
    Ok(secret.expose().map(str::to_owned))
}

/// Returns the failure of an output in whose list or map is a secret: the ledger keeps the text of whole outputs only.
fn nested_secret(name: &Name) -> CliFailure {
    let what = format!(
        "the output `{name}` is a list or a map with secrets inside: the ledger does not keep their text"
    );
    CliFailure::new(Exit::Failed, what)
        .help("Declare an output for each of these secrets, and apply it; without --show, the other values are printed.")
}

fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Secret(_) => Value::Null,
        Value::List(items) => Value::List(items.iter().map(without_secrets).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(name, part)| (name.clone(), without_secrets(part))).collect())
        }
        other => other.clone(),
    }
}

/// Returns the failure of a stack whose ledger has no outputs.
fn never_applied(unit: &UnitHeader<'_>) -> CliFailure {
    let hint = ledger_settings::built_in_hint(unit.settings, &unit.environment);
    let help = || format!("Apply it first: {}", unit.settings.command_line("apply"));
    let name = unit.unit_name();
    CliFailure::new(Exit::Failed, format!("{name} has no recorded outputs: it was never applied"))
        .help(hint.map_or_else(help, str::to_owned))
}

fn no_such_output<'n>(
    unit: &UnitHeader<'_>,
    name: &Name,
    known: impl Iterator<Item = &'n Name> + Clone,
) -> CliFailure {
    let what = format!("the last apply of {} recorded no output `{name}`", unit.unit_name());
    let failure = CliFailure::new(Exit::Failed, what);
    // A configuration with errors may have it, too: that is not known.
    if LoadedStack::open(unit.settings).is_ok_and(|project| project.stack.outputs.contains_key(name)) {
        let apply = unit.settings.command_line("apply");
        return failure.help(format!("The configuration has it. Apply it: {apply}"));
    }
    let names: Vec<&str> = known.map(Name::as_str).collect();
    match nearest_name(name, names.iter().copied()) {
        Some(near) => failure.help(format!("Did you mean `{near}`?")),
        None if names.is_empty() => failure.help("It recorded no outputs."),
        None => failure.help(format!("It recorded: {}.", names.join(", "))),
    }
}

/// Returns a value as it is, for `--raw`.
///
/// # Errors
/// When it is no single value, or a secret that is not to be shown.
pub(super) fn raw_text(output: &RecordedOutput) -> Result<String, CliFailure> {
    let name = &output.name;
    let kind = match (&output.value, &output.text) {
        (Value::Secret(_), Some(text)) => return Ok(text.clone()),
        (Value::Text(text), _) => return Ok(text.to_string()),
        (Value::Bool(_) | Value::Integer(_) | Value::Decimal(_), _) => {
            return Ok(phrases::format_value(&output.value));
        }
        (Value::Secret(_), None) => {
            return Err(CliFailure::new(Exit::Usage, format!("the output `{name}` is secret"))
                .help("Add --show, if its text may be printed."));
        }
        (Value::List(_), _) => "a list",
        (Value::Map(_), _) => "a map",
        (Value::Null | Value::Unknown(_), _) => "null",
    };
    Err(CliFailure::new(Exit::Usage, format!("the output `{name}` is {kind}, which has no raw form"))
        .help("Use a document instead: --output json"))
}

pub(super) fn display_text(output: &RecordedOutput) -> String {
    output.text.clone().unwrap_or_else(|| phrases::format_value(&output.value))
}

/// Adds a line for each output; says if there is none.
pub(super) fn add_outputs(page: &mut TextPage, indent: usize, outputs: &[RecordedOutput]) {
    let Some(widest) = outputs.iter().map(|output| page::display_width(&output.name)).max() else {
        page.add_line(TextLine::indent(indent).push_text("No outputs."));
        return;
    };
    let column = indent + widest.min(MAX_NAME_WIDTH) + 2;
    for output in outputs {
        let line = TextLine::indent(indent).push_text(&output.name).to_column(column).continue_at(column);
        page.add_line(line.push_text(display_text(output)));
    }
}
