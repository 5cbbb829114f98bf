//! Tests of parsing the command line: defaults, conflicts, help and the table of properties.

use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;
use crate::cli::args::OutputFormat;
use crate::cli::args::values::{AutoApproval, ChangeKind};

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split(' '))
}

fn command(line: &str) -> Command {
    parse(line).unwrap().command.unwrap()
}

#[test]
fn the_command_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn global_flags_are_accepted_before_and_after_the_command() {
    for line in [
        "stead -e prod -C shop --var a=b=c --output json plan",
        "stead plan -e prod --dir shop --var a=b=c --output json",
    ] {
        let global = parse(line).unwrap().global;
        assert_eq!(global.env.as_deref(), Some("prod"));
        assert_eq!(global.dir, Some(PathBuf::from("shop")));
        assert_eq!(global.vars, [("a".into(), "b=c".to_owned())]);
        assert_eq!(global.output, Some(OutputFormat::Json));
    }
}

#[test]
fn yes_takes_kinds_of_change_and_never_the_plan_file() {
    let yes = |line| match command(line) {
        Command::Apply(apply) => (apply.yes, apply.file.map(|file| file.display().to_string())),
        other => panic!("{other:?}"),
    };
    assert_eq!(yes("stead apply"), (None, None));
    assert_eq!(yes("stead apply --yes prod.plan"), (Some(AutoApproval::All), Some("prod.plan".into())));
    let only = AutoApproval::Only([ChangeKind::Create, ChangeKind::Update].into());
    assert_eq!(yes("stead apply --yes=create,update"), (Some(only), None));
    assert!(
        parse("stead apply --yes=crate").unwrap_err().to_string().contains("not one of create, update")
    );
}

#[test]
fn flags_that_contradict_are_refused() {
    let table = [
        "stead apply p.plan --target vm.web",
        "stead apply p.plan --allow-deletes",
        "stead apply p.plan --expect 7f3a-c91e",
        "stead apply --expect 7f3a",
        "stead apply --expect 7f3a-c91e",
        "stead apply --expect 7f3ac91e",
        "stead plan --expires 12h",
        "stead plan -o f.plan --expires 30s",
        "stead plan -o f.plan --expires 31d",
        "stead plan -o f.plan --expires never",
        "stead -q -v plan",
        "stead --cloud local --api-url http://127.0.0.1 plan",
        "stead apply --parallel 0",
        "stead plan --target VM",
        "stead plan --adopt vm.web=",
        "stead plan --var novalue",
        "stead emulator --speed 0",
        "stead get",
        "stead frobnicate",
    ];
    for line in table {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn plan_flags_for_scope_and_output_are_parsed() {
    let Command::Plan(plan) = command(
        "stead plan -o f.plan --detailed-exitcode --destroy --target vm.web --target vpc.main --exclude vm.web.b --adopt database.main=db-1 --allow-deletes",
    ) else {
        panic!()
    };
    assert_eq!(plan.out, Some(PathBuf::from("f.plan")));
    assert!(plan.exit_code && plan.destroy && plan.scope.allows_all_deletions());
    assert_eq!(plan.scope.targets.len(), 2);
    assert_eq!(plan.scope.exclude[0].as_str(), "vm.web.b");
    assert_eq!(plan.scope.adopt[0].1.as_deref(), Some("db-1"));
}

#[test]
fn every_other_command_line_parses() {
    let table = [
        "stead init",
        "stead init --template shop --format kdl --force my-shop",
        "stead validate",
        "stead show f.plan",
        "stead apply --expect 7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e --yes --parallel 4",
        "stead apply f.plan --expect 7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e7f3ac91e --verify-key k.pub",
        "stead plan -o f.plan --expires 1m",
        "stead plan -o f.plan --expires 12h",
        "stead plan -o f.plan --expires 30d",
        "stead destroy --yes --confirm shop",
        "stead drift --exit-code",
        "stead ls -o wide --unmanaged",
        "stead get database.main.users.reporting",
        "stead emulator --port 0 --bind 127.0.0.1 --data d --seed objects=10 --fail POST=503 --fail x --speed 60",
        "stead completions zsh",
        "stead version",
        "stead --color never --no-input --project shop -v validate",
    ];
    for line in table {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn a_misspelled_argument_gets_a_suggestion() {
    let table = [
        ("stead plam", "plan"),
        ("stead plan --allow-delete", "--allow-deletes"),
        ("stead --colour never plan", "--color"),
    ];
    for (line, suggestion) in table {
        let error = parse(line).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument),
            "{line}"
        );
        assert!(error.to_string().contains(suggestion), "{line}: {error}");
    }
}

#[test]
fn stead_without_arguments_prints_three_examples_on_one_screen() {
    for line in ["stead help", "stead help apply", "stead help do reboot", "stead help state pull"] {
        assert_eq!(parse(line).unwrap_err().kind(), ErrorKind::DisplayHelp, "{line}");
    }
    assert_eq!(parse("stead").unwrap().command, None);
    assert!(command_overview().lines().count() <= 20);
    assert_eq!(command_overview().lines().filter(|line| line.starts_with("  stead ")).count(), 3);
}

#[test]
fn every_command_has_a_description_and_an_example() {
    fn look(command: &clap::Command, path: &str) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let path = format!("{path} {}", command.get_name());
            assert!(command.get_about().is_some(), "{path}");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("stead "), "{path} has no example: {help}");
            look(command, &path);
        }
    }
    look(&Cli::command(), "stead");
}
