//! `stead import`: adopts live objects, and writes their configuration. In: the live objects of the account and the
//! stack's files. Out: new or edited files, and one ledger record per object. A draft of the configuration is
//! accepted only if a plan with it is empty; the files are written before the ledger, so that a crash between leaves
//! a declared resource that a second import adopts.

pub(in crate::cli) mod arguments;
mod child;
mod literals;
mod secrets;

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use self::literals::block_literal;
use self::secrets::ImportedSecrets;
use super::recover::read_and_match;
use crate::cli::args::values::FileSyntax;
use crate::cli::artifacts::templates;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::import::arguments::ImportArgs;
use crate::cli::files::{stack_files, write_files};
use crate::cli::ledger::ledger_io::{self, CommandJournal, ExpectedLedger};
use crate::cli::ledger::other_ledgers;
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::planning::{claims, inventory};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::{deferred_secrets, prompt};
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::{pin_catalog_names, read_pinned_names};
use crate::cli::stack::project::{LoadedStack, StackSources};
use crate::cli::stack::source_edits::SourceEdits;
use crate::config::edit::{Edit, EditPath};
use crate::config::format::blocks::PrintedEntry;
use crate::config::input::request::LoadRequest;
use crate::config::stack::module_path::{kind_at, module_of};
use crate::config::syntax::document::Syntax;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::source::{SourceId, Sources};
use crate::plan::import::{ImportError, ImportRequest, ImportResult, accept_child, accept_order};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::model::step::LedgerUpdate;
use crate::report::json;
use crate::report::text::phrases;
use crate::report::views::{import as page, recovery as matches};

/// Inserts the entries of a child into the stack's files.
type ChildWriter<'w> = &'w dyn Fn(&[PrintedEntry]) -> Result<Sources, ImportError>;

/// Ledger entries to record, by address.
type AdoptedEntries = Vec<(Address, Box<Entry>)>;

/// Imports one object, all of them, or those of declared resources. Returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When the stack has errors, the service or the ledger cannot be read or written, an object belongs to another
/// address or ledger, or the written configuration would change an object.
pub(in crate::cli) async fn run(session: &CommandContext, args: &ImportArgs) -> Result<Exit, CliFailure> {
    let name = templates::stack_name(&stack_files::directory_name(&session.settings.dir));
    let begun = prompt::prompt_missing_secrets(&session.settings, session.ui.interactive, |settings| {
        LoadedStack::open_or_begin(settings, &name)
    })?;
    let connection = session.connect(&begun.project)?;
    if args.observe {
        let stack = &begun.project.stack;
        let found = ledger_io::find_ledger(&begun.project, &connection.place).await?;
        let ledger = found.unwrap_or_else(|| Ledger::new(ledger_io::new_identity(&begun.project)));
        session.ui.hint(&format!("Read only: {}/{} is not changed.", stack.name, stack.environment.name));
        return ImportCommand { session, begun: &begun, connection: &connection, ledger, journal: None }
            .run(args)
            .await;
    }
    let journal =
        ledger_io::open_journal(&begun.project, &connection, &session.who, ExpectedLedger::Newest).await?;
    let ledger = journal.ledger().clone();
    let importing =
        ImportCommand { session, begun: &begun, connection: &connection, ledger, journal: Some(&journal) };
    let done = ledger_io::while_kept(&journal, importing.run(args)).await;
    ledger_io::close_after(journal, done).await
}

/// State of one import: the stack, the connection and the ledger.
struct ImportCommand<'a> {
    session: &'a CommandContext,
    begun: &'a StackSources,
    connection: &'a StackConnection,
    ledger: Ledger,
    /// The open ledger; `None` with `--observe`, which writes nothing.
    journal: Option<&'a CommandJournal>,
}

/// Selection of the live objects to import.
struct ImportSelection<'a> {
    /// Import only this object, at this address; `None` selects all objects.
    only: Option<(&'a Address, &'a ObjectKey)>,
    /// Import only objects of this project, by id; `None` selects those of all projects.
    project: Option<&'a Name>,
    /// Objects to leave unmanaged, each with the reason as a sentence.
    kept_out: &'a BTreeMap<ObjectKey, String>,
}

impl ImportCommand<'_> {
    /// Imports what the arguments name. The future is boxed, so that its code is built once for both callers.
    fn run<'a>(&'a self, args: &'a ImportArgs) -> LocalBoxFuture<'a, Result<Exit, CliFailure>> {
        match (&args.address, &args.id) {
            (Some(address), Some(id)) if self.begun.project.stack.resources.contains_key(address) => {
                self.import_declared(args, address, id).boxed_local()
            }
            (Some(address), Some(id)) => self.import_one(args, address, id).boxed_local(),
            _ if args.match_names => self.import_matching(args).boxed_local(),
            _ => self.import_all(args).boxed_local(),
        }
    }

    fn plan_inputs<'o>(&'o self, options: &'o PlanningOptions, world: &'o RefreshResult) -> PlanInputs<'o> {
        PlanInputs {
            registry: REGISTRY,
            stack: &self.begun.project.stack,
            ledger: &self.ledger,
            snapshot: &world.snapshot,
            catalog: &world.catalog,
            pinned: None,
            options,
            now: self.connection.client.clock().now(),
            nonce: self.connection.client.random().uuid(),
        }
    }

    /// Reads all live objects that the key can list, with the options of a read-only command.
    async fn read_inventory(&self) -> Result<RefreshResult, CliFailure> {
        let options = self.session.read_only_options();
        let project = &self.begun.project;
        inventory::read_inventory(&self.session.ui, self.connection, project, &self.ledger, &options).await
    }

    /// Imports all objects that no ledger owns, that are not in use by the service or a workload, and that can be read.
    async fn import_all(&self, args: &ImportArgs) -> Result<Exit, CliFailure> {
        let mut world = self.read_inventory().await?;
        let project = self.session.settings.project.as_ref();
        let project = project.map(|named| inventory::find_project(&world.snapshot, named)).transpose()?;
        let foreign =
            other_ledgers::objects_of_other_ledgers(&self.begun.project, &self.connection.place).await?;
        let options = PlanningOptions {
            project: project.clone(),
            foreign: foreign.into(),
            ..PlanningOptions::default()
        };
        let mut kept_out = inventory::in_use(&world.snapshot, |beginning| {
            self.connection.client.cloud().opens_with(beginning)
        });
        let claimed = claims::claimed_objects(self.connection, &world.snapshot).await?;
        let why = |owner| claims::left_to_its_owner(&world.snapshot, owner);
        kept_out.extend(claimed.iter().map(|(key, owner)| (key.clone(), why(owner))));
        let taken = |object: &Object| {
            let key = object.key();
            let inside = project.is_none() || object.project.is_none() || object.project == project;
            inside
                && !kept_out.contains_key(&key)
                && !options.foreign.contains_key(&key)
                && !self.owns(&key)
                && REGISTRY.kind(&key.kind).is_some_and(|kind| !kind.is_given(&object.attributes))
        };
        let unread = inventory::read_whole(self.connection, &mut world.snapshot, taken).await?;
        kept_out.extend(unread);
        let from = ImportSelection { only: None, project: project.as_ref(), kept_out: &kept_out };
        let accepted = self.draft_import(args, &options, &world, &from, None)?;
        self.confirm_and_record(args, accepted, &world, (None, true)).await
    }

    /// Reads an object and its children completely; a child that cannot be read is left out.
    async fn read_one(&self, world: &mut RefreshResult, key: &ObjectKey) -> Result<(), CliFailure> {
        let taken = |object: &Object| object.key() == *key || object.parent.as_ref() == Some(&key.id);
        let unread = inventory::read_whole(self.connection, &mut world.snapshot, taken).await?;
        match unread.get(key) {
            None => Ok(()),
            Some(why) => Err(CliFailure::new(Exit::Failed, format!("{} is not imported. {why}", key.id))
                .help("Use a key that may read it.")),
        }
    }

    /// Returns whether the stack's ledger owns an object, as current or deposed, at any address.
    fn owns(&self, key: &ObjectKey) -> bool {
        let mut entries = self.ledger.entries.values().filter(|entry| entry.kind == key.kind);
        entries.any(|entry| {
            entry.current.iter().chain(&entry.deposed).any(|owned| owned.key(&entry.kind) == *key)
        })
    }

    /// Imports one object and writes its block, or adds it to the block of its parent.
    async fn import_one(
        &self,
        args: &ImportArgs,
        address: &Address,
        id: &Name,
    ) -> Result<Exit, CliFailure> {
        // A block of a module is shared by every use of the module, so it cannot be written for one object.
        let own = module_of(&REGISTRY, address.as_str()).0.is_empty();
        let kind = kind_at(&REGISTRY, address).filter(|_| own);
        let parent = kind.and_then(|kind| child::find_parent(self.begun, address, kind)).transpose()?;
        let kind = kind.filter(|_| parent.is_some() || address.segments().count() == 2);
        let Some(kind) = kind else {
            let text = format!("{address} is not declared, and cannot be added");
            return Err(CliFailure::new(Exit::Usage, text)
            .help("An address is KIND.NAME, or that of a child of a declared block. For an instance, write its block first."));
        };
        let (connection, project) = (self.connection, &self.begun.project);
        let mut world = self.read_inventory().await?;
        let key = match &parent {
            Some(parent) => child::find_child(&world.snapshot, kind, id, parent.owned_id(&self.ledger)?)?,
            None => inventory::find_object(&world.snapshot, kind, id)?,
        };
        let owner = self.ledger.entries.iter().find(|(_, entry)| {
            entry.kind == key.kind && entry.current.as_ref().is_some_and(|owned| owned.id == key.id)
        });
        if let Some((owner, _)) = owner {
            return Err(CliFailure::new(Exit::Failed, format!("{id} belongs to {owner} already"))
                .help(format!("To give it the other address: stead mv {owner} {address}")));
        }
        let foreign = other_ledgers::objects_of_other_ledgers(project, &connection.place).await?;
        if let Some(owner) = foreign.get(&key) {
            return Err(CliFailure::new(Exit::Failed, format!("{id} belongs to {owner} already")).help(
                "Two ledgers would manage the same object. Forget it in that stack first (`rm ADDRESS --keep`), and apply there.",
            ));
        }
        let claimed = claims::claimed_objects(connection, &world.snapshot).await?;
        if let Some(owner) = claimed.get(&key) {
            let why = claims::left_to_its_owner(&world.snapshot, owner);
            return Err(CliFailure::new(Exit::Failed, format!("{id} is not imported. {why}"))
                .help("Change the claim in its owner, not the object: otherwise two writers would keep changing it."));
        }
        self.read_one(&mut world, &key).await?;
        let options = PlanningOptions { foreign: foreign.into(), ..self.session.read_only_options() };
        // Who names an object by its id knows what it is.
        let from =
            ImportSelection { only: Some((address, &key)), project: None, kept_out: &BTreeMap::new() };
        let Some(parent) = parent else {
            let accepted = self.draft_import(args, &options, &world, &from, None)?;
            let edits = self.insert_block(&accepted)?;
            return self.confirm_and_record(args, accepted, &world, (edits, false)).await;
        };
        let write = |entries: &[PrintedEntry]| parent.insert_entries(self.begun, address, entries);
        let accepted = self.draft_import(
            args,
            &options,
            &world,
            &from,
            Some(&|entries| {
                let edits = write(entries).map_err(child::draft_refusal)?;
                Ok(edits.sources())
            }),
        )?;
        let entries = accepted.blocks.first().map(|block| block.entries.as_slice()).unwrap_or_default();
        let edits = write(entries)?;
        self.confirm_and_record(args, accepted, &world, (Some(edits), false)).await
    }

    /// Drafts the configuration until its plan is empty: separate blocks or, with `write`, the block of a child.
    fn draft_import(
        &self,
        args: &ImportArgs,
        options: &PlanningOptions,
        world: &RefreshResult,
        from: &ImportSelection<'_>,
        write: Option<ChildWriter<'_>>,
    ) -> Result<ImportResult, CliFailure> {
        let below = self.begun.project.files();
        // Declared resources are planned with the secrets that are available.
        let available_secrets = deferred_secrets::collect_available_secrets(
            &self.begun.project,
            &self.ledger,
            &world.snapshot,
        )?
        .secrets;
        let request = LoadRequest { available_secrets, ..self.begun.request.clone() };
        let order = ImportRequest {
            inputs: self.plan_inputs(options, world),
            files: &self.begun.files,
            request: &request,
            read: &below,
            format: match args.format {
                FileSyntax::Yaml => Syntax::Yaml,
                FileSyntax::Kdl => Syntax::Kdl,
            },
            only: from.only,
            project: from.project,
            kept_out: from.kept_out,
            hidden: &args.secret,
        };
        let accepted = match write {
            Some(write) => accept_child(&order, write),
            None => accept_order(&order),
        };
        accepted.map_err(|refused| match refused {
            ImportError::Rejected(rejected) => CliFailure::from(rejected),
            ImportError::Blocked(why) => {
                CliFailure::new(Exit::Failed, format!("nothing was imported: {why}"))
            }
        })
    }

    /// Shows the files to write, asks for confirmation, writes the files, then the ledger. `edits` is `None` if the
    /// blocks are in new files; `all` shortens the output.
    async fn confirm_and_record(
        &self,
        args: &ImportArgs,
        accepted: ImportResult,
        world: &RefreshResult,
        (edits, all): (Option<SourceEdits<'_>>, bool),
    ) -> Result<Exit, CliFailure> {
        let ui = &self.session.ui;
        if ui.json {
            ui.write_result(&json::takeover_document(&accepted));
        } else {
            ui.write_result(&page::takeover_page(&accepted, ui.verbose || !all || args.observe, ui.style));
        }
        if accepted.entries.is_empty() || args.observe {
            ui.write_message("Nothing was written.");
            return Ok(Exit::Done);
        }
        // Before the prompt: a confirmed import must not fail because the file exists.
        let secrets = ImportedSecrets::from_args(args, &accepted.variables)?;
        if let Some(edits) = &edits {
            if !edits.confirm_and_write(&self.session.ui, &self.session.settings.dir, args.yes).await? {
                return Ok(Exit::Failed);
            }
        } else {
            let question = format!("Write {} files and import this?", accepted.files.len());
            if !self.session.ui.confirm_action(args.yes, &question).await? {
                return Ok(Exit::Failed);
            }
            secrets.write(self.session)?;
            self.write(&accepted.files)?;
        }
        let count = accepted.entries.len();
        // After the files: the reverse order would leave objects in the ledger without a block, and the
        // next apply deletes these.
        self.record_adoptions(accepted.entries, world).await?;
        let begun = &self.begun.project;
        let project = LoadedStack {
            directory: begun.directory.clone(),
            stack: accepted.stack,
            warnings: Vec::new(),
            outside: begun.outside,
            settings: begun.settings.clone(),
            anew: None,
            reads: None,
        };
        let pinned = read_pinned_names(&self.connection.lock_file)?;
        pin_catalog_names(&project.stack, &self.connection.lock_file, &world.catalog, pinned.as_ref())?;
        ui.write_message(&managed_message(count));
        secrets.next(self.session);
        Ok(Exit::Done)
    }

    /// Inserts a block into the file with the other blocks of its kind; `None` if there is no such file, or the
    /// block needs new variables.
    fn insert_block(&self, accepted: &ImportResult) -> Result<Option<SourceEdits<'_>>, CliFailure> {
        let [block] = accepted.blocks.as_slice() else { return Ok(None) };
        let of_kind = |address: &&Address| address.root() == block.word;
        let beside = self.begun.project.stack.resources.iter().find(|(address, _)| of_kind(address));
        let Some((_, beside)) = beside.filter(|_| accepted.variables.is_empty()) else { return Ok(None) };
        let file: SourceId = beside.span.source;
        let mut edits = SourceEdits::new(self.begun);
        let path = EditPath::from_text(&block.word).with_key(block.name.as_str());
        edits.edit_file(file, &[Edit::Set(path, block_literal(block))])?;
        edits.read()?;
        Ok(Some(edits))
    }

    /// Writes all new files; writes none if one of them exists. An error while writing leaves the files before it.
    fn write(&self, written: &[(String, String)]) -> Result<(), CliFailure> {
        let directory = &self.begun.project.directory;
        let there = written
            .iter()
            .map(|(name, _)| directory.join(name))
            .find(|path| stack_files::path_exists(path));
        if let Some(path) = there {
            return Err(CliFailure::existing_file(&stack_files::display_path(&path)));
        }
        for (name, text) in written {
            write_files::write_public(&directory.join(name), text.as_bytes())?;
        }
        Ok(())
    }

    /// Records adopted objects in the ledger, with the account if the ledger does not know it yet;
    /// no ledger, no record.
    async fn record_adoptions(
        &self,
        entries: AdoptedEntries,
        world: &RefreshResult,
    ) -> Result<(), CliFailure> {
        let Some(journal) = self.journal else { return Ok(()) };
        let known = self.ledger.identity.account.is_some();
        let account = world.snapshot.account.clone().filter(|_| !known);
        let mut records: Vec<Record> =
            account.map(|account| Record::Account { account }).into_iter().collect();
        let adopted = entries.into_iter().map(|(address, entry)| Record::Adopted { address, entry });
        records.extend(adopted);
        Ok(journal.commit(&records).await?)
    }

    /// Adopts one object for a resource that is declared already; its block stays as it is.
    async fn import_declared(
        &self,
        args: &ImportArgs,
        address: &Address,
        id: &Name,
    ) -> Result<Exit, CliFailure> {
        let adopt = BTreeMap::from([(address.clone(), id.clone())]);
        let options = PlanningOptions { adopt, ..self.session.read_only_options() };
        let pinned = read_pinned_names(&self.connection.lock_file)?;
        let reading = refresh::read_and_plan(
            self.connection,
            &self.begun.project,
            &self.ledger,
            &options,
            pinned.as_ref(),
        );
        let (plan, world) = reading.await?;
        let ui = &self.session.ui;
        if let Some(block) = plan.blocks.iter().find(|block| block.address.as_ref() == Some(address)) {
            return Err(CliFailure::new(Exit::Blocked, block.text.clone()).help(&block.help));
        }
        let change = plan.changes.iter().find(|change| change.address == *address);
        let differs = change.is_some_and(|change| !change.attributes.is_empty());
        let entry = plan.bookkeeping.iter().find_map(|bookkeeping| match bookkeeping {
            LedgerUpdate::Remember(of, entry) if of == address => Some((of.clone(), entry.clone())),
            _ => None,
        });
        ui.write_result(&if ui.json {
            json::adoption_document(address, id, change)
        } else {
            page::adoption_page(address, id, change, ui.style)
        });
        let (Some(entry), false) = (entry, args.observe) else {
            ui.write_message("Nothing was written.");
            return Ok(Exit::Done);
        };
        let question = if differs { "Adopt it? The next apply changes it as shown." } else { "Adopt it?" };
        if !self.session.ui.confirm_action(args.yes, question).await? {
            return Ok(Exit::Failed);
        }
        self.record_adoptions(vec![entry], &world).await?;
        ui.write_message(&format!("{address} is managed now."));
        Ok(Exit::Done)
    }

    /// Adopts the objects of declared resources, found by their identifying attributes. Returns `Exit::Blocked` if
    /// several objects match one resource; the others are adopted.
    async fn import_matching(&self, args: &ImportArgs) -> Result<Exit, CliFailure> {
        let ui = &self.session.ui;
        let (stack, connection) = (&self.begun.project, self.connection);
        let (mut recovery, world) =
            read_and_match(self.session, stack, connection, &self.ledger, &BTreeMap::new()).await?;
        let owned = |address: &Address| {
            self.ledger.entries.get(address).is_some_and(|entry| entry.current.is_some())
        };
        recovery.found.retain(|found| !owned(&found.address));
        if ui.json {
            ui.write_result(&json::recovery_document(&recovery));
        } else {
            ui.write_result(&matches::recovery_page(&recovery, ui.style));
        }
        let exit = if recovery.ties.is_empty() { Exit::Done } else { Exit::Blocked };
        if recovery.found.is_empty() || args.observe {
            ui.write_message("Nothing was written.");
            return Ok(exit);
        }
        if !self.session.ui.confirm_action(args.yes, "Adopt these?").await? {
            return Ok(Exit::Failed);
        }
        let count = recovery.found.len();
        let entries = recovery.found.into_iter().map(|found| (found.address, found.entry)).collect();
        self.record_adoptions(entries, &world).await?;
        ui.write_message(&managed_message(count));
        self.session.next("plan", "shows what differs");
        Ok(exit)
    }
}

fn managed_message(count: usize) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb} managed now.", phrases::count_noun(count, "object"))
}
