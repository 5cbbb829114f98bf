//! The command line of `do`, built from the kinds' action tables: each action is a subcommand, each of its
//! parameters a flag. Actions of the same name in several kinds share one subcommand, so a value is checked against
//! its type only after the target has selected the kind.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use crate::cli::actions::registry::{self, KindAction};
use crate::cli::args::values::parse_duration;
use crate::kinds::REGISTRY;
use crate::model::schema::{DocumentMerge, Effect, Parameter, ParameterPresence, ResponseShape, Type};

/// Name of the action that every kind has without an entry in its table.
pub(in crate::cli) const DELETE: &str = "delete";

const ABOUT: &str = "\
An action runs once, immediately, and is not part of the configuration. ADDRESS is a resource of the stack (vm.web), or KIND:ID for an object that no stack here manages (a child is KIND:PARENT/ID). An action that disrupts the object asks first; without a terminal it needs --yes.

Examples:
  stead do reboot vm.web
  stead do connection database.main
  stead do console database.main 'select count(*) from orders'
  stead do restore database.main --time 2026-10-14T12:00:00Z
  stead do ACTION --help explains one action.";

/// Command-line arguments of `stead do`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DoArgs {
    /// Name of the action, such as `reboot`, or `DELETE`.
    pub action: String,
    /// Target of the action, not yet parsed; `None` if the user named none.
    pub target: Option<String>,
    /// Values of the parameters that were given, by parameter name; a flag without a value has an empty list.
    pub given: BTreeMap<&'static str, Vec<String>>,
    /// Whether the action runs without a prompt.
    pub yes: bool,
    /// Whether the command returns after the response, without waiting for the action to complete.
    pub no_wait: bool,
    /// Limit of the wait. `None`: the default of the kind for an object, no limit for a run or a deleted record.
    pub timeout: Option<Duration>,
    /// Whether secrets of the response are printed; refused unless standard output is a terminal.
    pub show: bool,
    /// File that receives the secret part of the response, `-` for standard output; `None` writes no file.
    pub to: Option<PathBuf>,
    /// Path of the only field to print, such as `private.uri`; `None` prints the whole response.
    pub field: Option<String>,
    /// Kubeconfig to merge the document into; `Some(None)` is the default file, `None` merges nothing.
    #[expect(clippy::option_option, reason = "absent, without a value, or with one")]
    pub merge: Option<Option<PathBuf>>,
    /// Whether the merged context becomes the current one.
    pub use_context: bool,
    /// Whether a table is printed as CSV.
    pub csv: bool,
    /// Whether the command keeps printing new records until it is interrupted.
    pub follow: bool,
}

impl Args for DoArgs {
    fn augment_args(command: Command) -> Command {
        let all = registry::actions_by_name(REGISTRY);
        let command = command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_value_name("ACTION")
            .subcommand_help_heading("Actions")
            .after_help(format!("{}\n\n{ABOUT}", by_kind()));
        let command = all
            .iter()
            .fold(command, |command, (name, deeds)| command.subcommand(action_command(name, deeds)));
        command.subcommand(delete_command())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DoArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (action, matches) =
            matches.subcommand().ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let has = |name: &str| matches.try_get_one::<bool>(name).ok().flatten() == Some(&true);
        let path = |name: &str| matches.try_get_one::<PathBuf>(name).ok().flatten().cloned();
        let texts = |name: &str| -> Option<Vec<String>> {
            Some(matches.try_get_many::<String>(name).ok()??.cloned().collect())
        };
        let mut given = BTreeMap::new();
        for parameter in distinct_parameters(
            registry::actions_by_name(REGISTRY).get(action).map_or(&[][..], Vec::as_slice),
        ) {
            let name = parameter.name;
            if parameter.ty == Type::Boolean {
                if has(name) {
                    given.insert(name, Vec::new());
                }
            } else if let Some(values) = texts(name) {
                given.insert(name, values);
            }
        }
        for name in ["id", "confirm"].into_iter().filter(|_| action == DELETE) {
            given.extend(texts(name).map(|values| (name, values)));
        }
        // `--merge` can be given without a file, so its presence is asked separately from its value.
        let merged = matches.try_contains_id("merge").is_ok_and(|there| there);
        Ok(Self {
            action: action.to_owned(),
            target: texts("address").and_then(|mut texts| texts.pop()),
            given,
            yes: has("yes"),
            no_wait: has("no-wait"),
            timeout: matches.try_get_one::<Duration>("timeout").ok().flatten().copied(),
            show: has("show"),
            to: path("to"),
            field: texts("field").and_then(|mut texts| texts.pop()),
            merge: merged.then(|| path("merge")),
            use_context: has("use"),
            csv: has("csv"),
            follow: has("follow"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the actions of each kind, one kind per line, for the help of `do`.
fn by_kind() -> String {
    let kinds = REGISTRY.kinds.iter().filter(|kind| !kind.actions.is_empty());
    let widest = kinds.clone().map(|kind| kind.name.len()).max().unwrap_or(0);
    let lines = kinds.map(|kind| {
        let names: Vec<&str> = kind.actions.iter().map(|action| action.name).collect();
        format!("  {:widest$}  {}", kind.name, names.join(", "))
    });
    format!("By kind:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the parameters of all actions of one name, each once.
fn distinct_parameters(deeds: &[KindAction]) -> Vec<Parameter> {
    let mut found: Vec<Parameter> = Vec::new();
    for parameter in deeds.iter().flat_map(|deed| deed.parameters(REGISTRY)) {
        match found.iter_mut().find(|known| known.name == parameter.name) {
            // A parameter that only some kinds require is checked when the kind is known.
            Some(known) if known.need != parameter.need => known.need = ParameterPresence::Optional,
            Some(_) => {}
            None => found.push(parameter),
        }
    }
    found
}

/// Returns the subcommand for all actions of one name; `deeds` is not empty.
fn action_command(name: &'static str, deeds: &[KindAction]) -> Command {
    let kinds: Vec<&str> = deeds.iter().map(|deed| deed.kind.name).collect();
    let about = match deeds {
        [only] => format!("{} ({})", only.action.summary.trim_end_matches('.'), only.kind.name),
        many => format!(
            "{} ({})",
            many.first().map_or("", |deed| deed.action.summary.trim_end_matches('.')),
            kinds.join(", ")
        ),
    };
    let mut command =
        Command::new(name).about(about).after_help(help_footer(deeds)).arg(address_arg(deeds));
    let parameters = distinct_parameters(deeds);
    let positions = parameters.iter().filter(|parameter| parameter.positional);
    // Index 1 is the address.
    for (at, parameter) in positions.enumerate() {
        command = command.arg(parameter_flag(parameter).index(at + 2));
    }
    for parameter in parameters.iter().filter(|parameter| !parameter.positional) {
        command = command.arg(parameter_flag(parameter).long(parameter.name));
    }
    for deed in deeds {
        let names = deed.action.exclusive;
        for (at, name) in names.iter().enumerate() {
            let others: Vec<&'static str> =
                names.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, name)| *name).collect();
            command = command.mut_arg(*name, |arg| arg.conflicts_with_all(others));
        }
    }
    add_common_flags(command, deeds)
}

/// Adds the flags that the actions share, such as `--yes`.
fn add_common_flags(mut command: Command, deeds: &[KindAction]) -> Command {
    let any = |test: fn(&KindAction) -> bool| deeds.iter().any(test);
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    // Every action takes `--yes`, so a script need not know which actions prompt.
    let merges = |deed: &KindAction| {
        matches!(deed.action.answer, ResponseShape::Document { merge: Some(DocumentMerge::Kubeconfig), .. })
    };
    let asks = any(|deed| deed.can_disrupt(REGISTRY)) || deeds.iter().any(merges);
    let yes =
        switch("yes", if asks { "Do not prompt" } else { "Do not prompt; this action never prompts" });
    command = command.arg(yes.hide(!asks));
    if any(|deed| deed.needs_wait()) {
        command = command.arg(switch("no-wait", "Do not wait for completion")).arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("TIME")
                .value_parser(parse_duration)
                .conflicts_with("no-wait")
                .help("Wait no longer than this, as 90s or 10m"),
        );
    }
    if any(|deed| deed.is_secret(REGISTRY)) {
        command = command.arg(switch("show", "Show what is secret, on a terminal")).arg(
            Arg::new("to")
                .long("to")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write what is secret to this file, readable by you only; - is standard output"),
        );
    }
    if any(|deed| matches!(deed.action.answer, ResponseShape::Record(_))) {
        let field = Arg::new("field").long("field").value_name("PATH");
        command = command.arg(field.help("Only this field, as user or private.uri"));
    }
    if deeds.iter().any(merges) {
        command = command.arg(
            Arg::new("merge")
                .long("merge")
                .value_name("FILE")
                .num_args(0..=1)
                .require_equals(true)
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["to", "show"])
                .help("Merge it into this file, as a separate context [default: $KUBECONFIG or ~/.kube/config]"),
        );
        command = command.arg(switch("use", "Make the merged context the current one").requires("merge"));
    }
    let is_table = |answer: &ResponseShape| {
        matches!(answer, ResponseShape::QueryResult | ResponseShape::Rows(_) | ResponseShape::Feed { .. })
    };
    if deeds.iter().any(|deed| is_table(&deed.action.answer)) {
        command = command.arg(switch("csv", "Write a table as CSV"));
    }
    if any(|deed| matches!(deed.action.answer, ResponseShape::Feed { .. })) {
        command =
            command.arg(switch("follow", "Follow new output until interrupted").conflicts_with("csv"));
    }
    command
}

/// Returns the subcommand `delete`, which every kind has. At run time it refuses an object that a ledger owns.
fn delete_command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).value_name(value).help(help).allow_hyphen_values(false)
    };
    Command::new(DELETE)
        .about("Deletes an object that is in no ledger of the backend (every kind)")
        .arg(text("address", "KIND", "The kind, or KIND:ID").index(1).required(true))
        .arg(text("id", "ID", "The object's id; PARENT/ID for a child").index(2))
        .arg(text("confirm", "ID", "The id again, as confirmation").long("confirm"))
        .after_help(
            "Example:\n  stead do delete backup 5b1e09c2-7d3f-4c55-9a51-0d9f3c2e8a11 \\\n    --confirm 5b1e09c2-7d3f-4c55-9a51-0d9f3c2e8a11",
        )
}

fn address_arg(deeds: &[KindAction]) -> Arg {
    let kinds: Vec<&str> = deeds.iter().map(|deed| deed.kind.name).collect();
    let needed = deeds.iter().all(|deed| deed.action.needs_object());
    let help = if needed {
        format!("The {}: ADDRESS, or KIND:ID for one that no stack here manages", kinds.join(" or "))
    } else {
        format!("The kind: {}", kinds.join(" or "))
    };
    Arg::new("address")
        .value_name(if needed { "ADDRESS" } else { "KIND" })
        .index(1)
        .required(needed)
        .help(help)
}

/// Returns the argument of a parameter. Except for an enum, its value is validated when the kind is known.
fn parameter_flag(parameter: &Parameter) -> Arg {
    let arg = Arg::new(parameter.name).help(parameter.summary.trim_end_matches('.'));
    let arg = arg.required(parameter.need == ParameterPresence::Required && !parameter.positional);
    match parameter.ty {
        Type::Boolean => arg.action(ArgAction::SetTrue),
        Type::List(_) | Type::Set { .. } | Type::Map(_) if parameter.positional => {
            arg.value_name(value_name(parameter)).num_args(0..)
        }
        Type::List(_) | Type::Set { .. } | Type::Map(_) => {
            arg.value_name(value_name(parameter)).action(ArgAction::Append)
        }
        Type::Enum(words) => {
            arg.value_name(value_name(parameter)).value_parser(PossibleValuesParser::new(words))
        }
        _ => arg.value_name(value_name(parameter)).allow_hyphen_values(true),
    }
}

const fn value_name(parameter: &Parameter) -> &'static str {
    match parameter.ty {
        Type::Integer { .. } | Type::Decimal => "N",
        Type::Reference(_) => "ADDRESS",
        Type::Map(_) => "NAME=VALUE",
        Type::List(_) | Type::Set { .. } => "ITEM",
        _ if parameter.from_file => "TEXT|@FILE|-",
        _ => "TEXT",
    }
}

/// Returns the end of the help: the further effects of each action, and one example for each kind.
fn help_footer(deeds: &[KindAction]) -> String {
    let mut text = String::new();
    for deed in deeds {
        let mut effects: Vec<String> =
            deed.effects(REGISTRY).into_iter().map(|effect| effect.text().to_owned()).collect();
        for parameter in deed.parameters(REGISTRY) {
            effects.extend(
                parameter
                    .effects
                    .iter()
                    .map(|e: &Effect| format!("with --{}: {}", parameter.name, e.text())),
            );
        }
        if !effects.is_empty() {
            let of = if deeds.len() > 1 { format!(" ({})", deed.kind.name) } else { String::new() };
            text = text + "Besides" + &of + ": " + &effects.join("; ") + ".\n";
        }
    }
    let examples: Vec<String> = deeds.iter().map(|deed| format!("  {}", example_command(*deed))).collect();
    let heading = if examples.len() > 1 { "Examples" } else { "Example" };
    format!("{text}{heading}:\n{}", examples.join("\n"))
}

fn example_command(deed: KindAction) -> String {
    let mut words = vec!["stead do".to_owned(), deed.action.name.to_owned()];
    words.push(match (deed.action.needs_object(), deed.kind.child_of()) {
        (false, _) => deed.kind.name.to_owned(),
        (true, None) => format!("{}.NAME", deed.kind.name),
        (true, Some((parent, collection))) => format!("{parent}.NAME.{collection}.NAME"),
    });
    for parameter in deed.parameters(REGISTRY).iter().filter(|p| p.need == ParameterPresence::Required) {
        let value = match parameter.ty {
            Type::Reference(kind) => format!("{kind}:ID"),
            _ => value_name(parameter).split('|').next().unwrap_or_default().to_owned(),
        };
        words.push(if parameter.positional {
            format!("'{}'", parameter.name.to_uppercase())
        } else {
            format!("--{} {value}", parameter.name)
        });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::dispatch::command_line::{Cli, Command as Chosen};

    fn parse(line: &str) -> Result<DoArgs, clap::Error> {
        match Cli::try_parse_from(line.split(' '))?.command {
            Some(Chosen::Do(args)) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn action_flags_are_derived_from_the_tables() {
        let done =
            parse("stead do restore database.main --in-place --backup b1 --yes --timeout 90s").unwrap();
        assert_eq!((done.action.as_str(), done.target.as_deref()), ("restore", Some("database.main")));
        assert_eq!(done.given["backup"], ["b1"]);
        assert!(done.given.contains_key("in-place") && done.yes);
        assert_eq!(done.timeout, Some(Duration::from_secs(90)));
        let browse = parse("stead do browse database.main public orders").unwrap();
        assert_eq!(browse.given["path"], ["public", "orders"]);
        assert_eq!(parse("stead do engines").unwrap().target, None);
        assert!(parse("stead do restore database.main --backup b --time t").is_err());
        assert!(parse("stead do reboot").is_err());
        assert!(parse("stead do reboot vm.web --csv").is_err());
        for (name, deeds) in registry::actions_by_name(REGISTRY) {
            assert!(
                action_command(name, &deeds).get_arguments().any(|arg| arg.get_id() == "yes"),
                "{name}"
            );
        }
    }

    #[test]
    fn a_misspelled_action_gets_a_suggestion() {
        let error = |line: &str| parse(line).unwrap_err().render().to_string();
        assert!(error("stead do rebot vm.web").contains("'reboot'"), "{}", error("stead do rebot vm.web"));
        assert!(error("stead do restore database.main --inplace").contains("'--in-place'"));
    }

    #[test]
    fn help_lists_kinds_and_disruptive_effects() {
        let help = parse("stead do --help").unwrap_err().render().to_string();
        for text in ["reboot", "Restarts it (vm)", "By kind:", "vm:ID", "database_user"] {
            let text = if text == "vm:ID" { "KIND:ID" } else { text };
            assert!(help.contains(text), "no {text} in {help}");
        }
        let help = parse("stead do reboot --help").unwrap_err().render().to_string();
        assert!(
            help.contains("Besides: it restarts.") && help.contains("stead do reboot vm.NAME"),
            "{help}"
        );
    }
}
