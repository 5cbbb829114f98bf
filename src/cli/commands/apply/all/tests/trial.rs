//! One repository on disk with a cloud in this thread: plans it, applies the reviewed plans, and says what was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::super::units_run::UnitsRun;
use super::repository::Repository;
use crate::cli::args::GlobalArgs;
use crate::cli::args::plan::{ExecutionArgs, OverrideArgs, PlanScopeArgs};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::apply::request::UnitsApplyRequest;
use crate::cli::commands::apply::units_outcome::RunResults;
use crate::cli::commands::apply::units_planning::plan_for_apply;
use crate::cli::commands::apply::units_review::ApprovedPlans;
use crate::cli::process::env::EnvVariables;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::profile::Profiles;
use crate::cli::process::settings;
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::service::test_transport::{SentChange, TestCloud};
use crate::cli::workspace::planned_units::{UnitsOptions, WorkspacePlan};
use crate::cli::workspace::planning::{self, PlanPurpose};
use crate::cli::workspace::units::{SelectionRequest, Workspace};
use crate::ledger::state::entry::Entry;
use crate::model::address::{Address, Name};
use crate::model::schema::Method;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};
use crate::report::text::style::TextStyle;
use crate::workspace::combined::has_work;

/// Collections of the service by kind.
pub(super) const COLLECTIONS: &[(&str, &str)] = &[
    ("vpc", "/api/v1/vpcs"),
    ("vm", "/api/v1/vms"),
    ("volume", "/api/v1/volumes"),
    ("database", "/api/v1/databases"),
    ("ssh_key", "/api/v1/ssh-keys"),
    ("app", "/api/v1/apps/services"),
];

/// The entries of ledgers, by unit.
pub(super) type Ledgers = BTreeMap<String, BTreeMap<Address, Entry>>;

/// A repository with its cloud.
pub(super) struct Trial {
    directory: TempDir,
    context: CommandContext,
    pub(super) cloud: TestCloud,
    /// Whether deletions are not limited.
    pub(super) allow_deletes: bool,
}

/// The plans of all units, with the workspace that they were made of.
pub(super) struct Review {
    pub(super) workspace: Workspace,
    pub(super) planned: WorkspacePlan,
}

impl Review {
    /// Returns the plans by the number of the unit, those without one left out.
    pub(super) fn plans(&self) -> impl Iterator<Item = (usize, &Plan)> {
        self.planned.planned().map(|(number, unit)| (number, &unit.plan))
    }

    pub(super) fn name(&self, number: usize) -> String {
        self.workspace.units[number].unit.name.to_string()
    }

    /// Returns why units have no plan or cannot be applied, by name.
    pub(super) fn obstacles(&self) -> BTreeMap<String, String> {
        let texts = self.planned.units.iter().filter_map(|(number, result)| {
            let text = match result {
                Err(failure) => match &failure.rejected {
                    Some(rejected) => format!("{:?}", rejected.diagnostics),
                    None => failure.message.clone(),
                },
                Ok(unit) => {
                    let blocks = unit.plan.blocks.iter().filter(|block| !block.only_freezes());
                    blocks
                        .map(|block| format!("{}: {}", block.code, block.text))
                        .collect::<Vec<_>>()
                        .join("; ")
                }
            };
            (!text.is_empty()).then(|| (self.name(*number), text))
        });
        texts.collect()
    }

    /// Returns the units that an apply has to do something for, by name, with their changes.
    pub(super) fn work(&self) -> BTreeMap<String, Vec<String>> {
        let units = self.plans().filter(|(_, plan)| has_work(plan)).map(|(number, plan)| {
            let mut lines: Vec<String> = plan
                .changes
                .iter()
                .map(|change| format!("{:?} {}", change.action, change.address))
                .collect();
            lines.extend(plan.bookkeeping.iter().map(|update| format!("{update:?}")));
            (self.name(number), lines)
        });
        units.collect()
    }
}

/// The arguments of an apply of all units.
struct UnitsArgs {
    units: UnitArgs,
    scope: PlanScopeArgs,
    running: ExecutionArgs,
    overriding: OverrideArgs,
}

impl Default for UnitsArgs {
    fn default() -> Self {
        let running = ExecutionArgs { parallel: 10, ..ExecutionArgs::default() };
        let (units, scope) = (UnitArgs::default(), PlanScopeArgs::default());
        Self { units, scope, running, overriding: OverrideArgs::default() }
    }
}

impl UnitsArgs {
    fn request<'a>(&'a self, expected: Option<&'a Name>, destroy: bool) -> UnitsApplyRequest<'a> {
        UnitsApplyRequest {
            units: &self.units,
            removals: &[],
            readers: &[],
            scope: &self.scope,
            running: &self.running,
            yes: None,
            expected,
            against: None,
            destroy,
            confirm: None,
            overriding: &self.overriding,
            join: None,
        }
    }
}

impl Trial {
    /// Returns a trial with an empty repository and an empty cloud, which is that of this thread from now on.
    pub(super) fn new(seed: u64) -> Self {
        // What is in memory is written faster, and nobody reads it after a crash of the machine.
        let memory = Path::new("/dev/shm");
        let directory =
            if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() };
        fs::create_dir(directory.path().join(".git")).unwrap();
        fs::write(directory.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let flags = GlobalArgs {
            dir: Some(directory.path().to_owned()),
            api_url: Some("http://127.0.0.1:9".to_owned()),
            quiet: true,
            ..GlobalArgs::default()
        };
        let variables: EnvVariables =
            [("STEAD_API_KEY".to_owned(), "sk_test".to_owned())].into_iter().collect();
        let profiles = Profiles::none("settings.toml");
        let settings = settings::merge(flags.clone(), &variables, &profiles).unwrap();
        let style = TextStyle::plain(120);
        let ui = Ui {
            style,
            message_style: style,
            json: true,
            ndjson: false,
            one_line: false,
            quiet: true,
            verbose: false,
            very_verbose: false,
            interactive: false,
            live: false,
            shows: false,
        };
        let context = CommandContext {
            settings,
            ui,
            mistake: None,
            who: "tester@here".to_owned(),
            commit: None,
            unit_settings: UnitSettings::new(flags, variables, profiles),
        };
        Self { directory, context, cloud: TestCloud::start(seed), allow_deletes: true }
    }

    /// Writes the files of a repository in place of those that are there.
    pub(super) fn write(&self, repository: &Repository) {
        self.write_files(repository.files().iter().map(|(path, text)| (path.as_str(), text.as_str())));
    }

    /// Writes files by path.
    pub(super) fn write_files<'f>(&self, files: impl IntoIterator<Item = (&'f str, &'f str)>) {
        for (path, text) in files {
            let path: PathBuf = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Plans all units together.
    pub(super) async fn plan(&self, destroy: bool) -> Result<Review, CliFailure> {
        let selection = SelectionRequest::default();
        let workspace = Workspace::open(&self.context.settings, &self.context.unit_settings, &selection)?;
        let options = self.options(destroy);
        let planned = Box::pin(planning::plan_units(&workspace, &options, PlanPurpose::Show)).await?;
        Ok(Review { workspace, planned })
    }

    /// Plans all units together as an apply of a review does.
    pub(super) async fn plan_for_apply(&self, fingerprint: &Name) -> Result<Review, CliFailure> {
        let selection = SelectionRequest::default();
        let workspace = Workspace::open(&self.context.settings, &self.context.unit_settings, &selection)?;
        let args = UnitsArgs::default();
        let request = args.request(Some(fingerprint), false);
        let options = self.options(false);
        let planned = Box::pin(plan_for_apply(&self.context, &workspace, &options, &request)).await?;
        Ok(Review { workspace, planned })
    }

    fn options(&self, destroy: bool) -> UnitsOptions {
        let planning = PlanningOptions {
            destroy,
            allow_deletes: destroy || self.allow_deletes,
            ..PlanningOptions::default()
        };
        UnitsOptions { planning, ..UnitsOptions::default() }
    }

    /// Applies the plans of a review as they were just shown; returns how each unit ended, by name.
    pub(super) async fn apply(&self, review: &Review, destroy: bool) -> BTreeMap<String, UnitEnd> {
        self.apply_approved(review, ApprovedPlans::default(), destroy).await
    }

    /// Applies units by plans that were approved.
    pub(super) async fn apply_approved(
        &self,
        review: &Review,
        approved: ApprovedPlans<'_>,
        destroy: bool,
    ) -> BTreeMap<String, UnitEnd> {
        let args = UnitsArgs::default();
        let request = args.request(None, destroy);
        let run = UnitsRun::new(&review.workspace, &review.planned, approved, destroy);
        let results = Box::pin(run.execute(&self.context, &request)).await.unwrap();
        ends(review, results)
    }

    /// Returns what the ledgers of all units own, by unit.
    pub(super) async fn ledger_entries(&self) -> Result<Ledgers, String> {
        let review = self.plan(false).await.map_err(|failure| failure.message)?;
        let units = review.planned.planned();
        let entries = units.map(|(number, unit)| (review.name(number), unit.ledger.entries.clone()));
        Ok(entries.collect())
    }

    /// Returns the number of live objects of the kinds that repositories have.
    pub(super) fn count_objects(&self) -> usize {
        let counts = COLLECTIONS.iter().map(|(_, path)| {
            let (_, json) = self.cloud.ask(Method::Get, path, None);
            json["data"].as_array().map_or(0, Vec::len)
        });
        counts.sum()
    }
}

/// How a unit ended: its exit code, and what a failure said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnitEnd {
    pub(super) exit: Exit,
    pub(super) message: String,
    pub(super) was_started: bool,
}

fn ends(review: &Review, results: RunResults) -> BTreeMap<String, UnitEnd> {
    let mut all = BTreeMap::new();
    for (number, result) in results.ended {
        let (exit, message) = match result {
            Ok(exit) => (exit, String::new()),
            Err(failure) => (failure.exit, failure.message),
        };
        all.insert(review.name(number), UnitEnd { exit, message, was_started: true });
    }
    for (number, failure) in results.skipped {
        let end = UnitEnd { exit: failure.exit, message: failure.message, was_started: false };
        all.insert(review.name(number), end);
    }
    all
}

/// Returns what was sent and is not in the reviewed plans: a deletion of another object, a call to an object that no step
/// names, more creations of a kind than steps.
pub(super) fn unreviewed_changes(review: &Review, sent: &[SentChange]) -> Vec<String> {
    let steps = || review.plans().flat_map(|(_, plan)| &plan.steps);
    let deleted: BTreeSet<Name> = steps().filter_map(deleted_object).collect();
    let touched = |step: &Step| match &step.operation {
        Operation::Update { object, .. } => object.as_ref().map(|key| key.id.clone()),
        Operation::Delete { .. } => deleted_object(step),
        Operation::Create { .. } => None,
    };
    let touched: BTreeSet<Name> = steps().filter_map(touched).collect();
    let owned: BTreeSet<Name> =
        review.planned.planned().flat_map(|(_, unit)| unit.ledger.owned_keys()).map(|key| key.id).collect();
    let mut wrong = Vec::new();
    let mut created: BTreeMap<&str, usize> = BTreeMap::new();
    for change in sent {
        let collection = COLLECTIONS.iter().find(|(_, path)| *path == change.path);
        if let Some((kind, _)) = collection.filter(|_| change.method == Method::Post) {
            if change.status.is_some_and(|status| status < 300) {
                *created.entry(kind).or_default() += 1;
            }
            continue;
        }
        let known = change.path.split('/').find(|part| owned.contains(*part));
        let line = || format!("{} {}", change.method, change.path);
        match known {
            Some(id) if change.method == Method::Delete && change.path.ends_with(id) => {
                wrong.extend((!deleted.contains(id)).then(line));
            }
            Some(id) => wrong.extend((!touched.contains(id)).then(line)),
            None => {}
        }
    }
    for (kind, count) in created {
        let is_creation =
            |step: &&Step| step.kind == kind && matches!(step.operation, Operation::Create { .. });
        let shown = steps().filter(is_creation).count();
        if count > shown {
            wrong.push(format!("{count} creations of {kind} and not {shown}"));
        }
    }
    wrong
}

fn deleted_object(step: &Step) -> Option<Name> {
    match &step.operation {
        Operation::Delete { object, .. } => Some(object.id.clone()),
        _ => None,
    }
}
