//! The other stacks of a stack's moves, and their ledgers. In: a declaration with the directory of another stack, or what
//! a ledger recorded of the other one. Out: the other stack with its location, or a diagnostic at the declaration; and
//! access to the other ledger. Which ledgers can be reached is decided by the user's settings alone: a recorded
//! location is followed only if it is a directory or the configured backend.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::ledger_io::{self, LedgerOpenOptions};
use super::open::{self, CommandStore};
use crate::apply::protocol::transfer::runner::PeerLedgers;
use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::service::embedded_cloud;
use crate::cli::stack::project::{self, LoadedStack};
use crate::cli::stack::repository_walk;
use crate::cloud::system_clock::SystemRandom;
use crate::config::load::StackHeader;
use crate::config::stack::declarations::{TransferDeclaration, TransferDirection};
use crate::config::stack::model::Stack;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::handle::Journal;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::transfer::LedgerPeer;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Diagnostic;
use crate::workspace::conflicts::transfer_claims::relative_path;

/// Code of a diagnostic about a move to or from another stack.
const TRANSFER_CODE: &str = "S0290";

/// The other stack of a move, in the environment that belongs to this stack's one.
pub(in crate::cli) struct PeerStack {
    /// Its directory.
    pub(in crate::cli) directory: PathBuf,
    /// Its configuration.
    pub(in crate::cli) stack: Stack,
    /// The settings by which its ledger is found and opened.
    pub(in crate::cli) settings: Settings,
    /// Location of its ledger.
    pub(in crate::cli) place: LedgerLocation,
    /// Whether it has the entry that belongs to the declaration.
    pub(in crate::cli) has_entry: bool,
}

impl PeerStack {
    /// Returns its name for messages: `stack/environment`.
    pub(in crate::cli) fn label(&self) -> Name {
        Name::new(format!("{}/{}", self.stack.name, self.stack.environment.name))
    }

    /// Finds and loads the other stack of a declaration, and checks the declaration against its blocks.
    ///
    /// # Errors
    /// When there is no such stack, it has errors, or its blocks do not fit the declaration: a diagnostic at the
    /// declaration.
    pub(in crate::cli) fn find(
        project: &LoadedStack,
        transfer: &TransferDeclaration,
    ) -> Result<Self, Box<Diagnostic>> {
        let directory = project.other_directory(&transfer.directory);
        let shown = || repository_walk::quote_other_directory(project, &transfer.directory);
        let header = project::read_header(&project.settings, &directory).ok().flatten();
        let header = header.ok_or_else(|| {
            let detail = format!("There is no readable stack in `{}`.", transfer.shown);
            let check = format!("stead -C {} validate", shown());
            wrong(
                transfer,
                detail,
                format!(
                    "name the directory of a stack, relative to this one; if the stack was removed before the move was applied, restore its files first; check it with: {check}"
                ),
            )
        })?;
        let environment = peer_environment(&project.stack, &header).ok_or_else(|| {
            let own = &project.stack.environment.name;
            let detail = format!("{} has no environment that belongs to {own} of this stack.", header.name);
            wrong(transfer, detail, format!("declare the environment `{own}` there, too"))
        })?;
        if project.settings.cloud == CloudEndpoint::Local
            && stack_files::full_path(&embedded_cloud::data_directory(&directory))
                != stack_files::full_path(&embedded_cloud::data_directory(&project.directory))
        {
            let detail =
                "The two stacks have different built-in clouds, so the object does not exist there.";
            let help = "keep both stacks in one Git repository, whose stacks share a cloud";
            return Err(wrong(transfer, detail.to_owned(), help.to_owned()));
        }
        let failed = |failure: CliFailure| {
            let has_environments = !header.environments.is_empty();
            let select = if has_environments { format!(" -e {environment}") } else { String::new() };
            let first = failure.rejected.as_ref().and_then(|rejected| rejected.diagnostics.first());
            let why = first.map(|first| first.detail.as_ref().unwrap_or(&first.summary));
            let why = why.unwrap_or(&failure.message);
            let detail = format!("The stack in `{}` cannot be read: {why}", transfer.shown);
            let check = format!("stead -C {} validate{select}", shown());
            wrong(transfer, detail, format!("correct it first: {check}"))
        };
        let settings = Settings {
            dir: directory.clone(),
            env: header.environments.contains(&environment).then(|| environment.clone()),
            needs_secrets: false,
            // The command line sets variables of this stack; the other one may not have them.
            vars: BTreeMap::new(),
            var_files: Vec::new(),
            ..project.settings.of_peer(&stack_files::full_path(&directory), &environment).clone()
        };
        let other = LoadedStack::open(&settings).map_err(failed)?;
        let place =
            ledger_settings::ledger_location(&settings, &other.stack, &directory).map_err(failed)?;
        check_blocks(transfer, &other.stack)?;
        let has_entry = check_entries(transfer, project, &other)?;
        Ok(Self { directory, stack: other.stack, settings, place, has_entry })
    }

    /// Returns the path from its directory to that of this stack, as an entry of it names this stack.
    pub(in crate::cli) fn way_back(&self, project: &LoadedStack) -> Name {
        self.directories(project).1.unwrap_or_else(|| Name::new_static("…"))
    }

    /// Returns how this stack's ledger records the directory of the other one, and the other way round.
    pub(in crate::cli) fn directories(&self, project: &LoadedStack) -> (Option<Name>, Option<Name>) {
        let (own, other) =
            (stack_files::real_path(&project.directory), stack_files::real_path(&self.directory));
        match (own, other) {
            (Some(own), Some(other)) => (relative_path(&own, &other), relative_path(&other, &own)),
            _ => (None, None),
        }
    }
}

fn wrong(transfer: &TransferDeclaration, detail: String, help: String) -> Box<Diagnostic> {
    let problem =
        Diagnostic::error(TRANSFER_CODE, "a move between two stacks does not fit the other stack");
    Box::new(problem.with_label(transfer.span, "").detail(detail).help(help))
}

/// Returns the environment of the other stack that belongs to this stack's one.
fn peer_environment(stack: &Stack, header: &StackHeader) -> Option<Name> {
    let own = &stack.environment.name;
    if !has_peer(own, stack.environments.len(), &header.environments) {
        return None;
    }
    let same = header.environments.get(own).or_else(|| header.environments.first());
    Some(same.unwrap_or(&header.default).clone())
}

/// Returns whether another stack with these environments has one that belongs to `own`, of a stack that declares `count`
/// environments: that of the same name; without environments on one side, the only one of the other side.
fn has_peer(own: &Name, count: usize, others: &BTreeSet<Name>) -> bool {
    others.contains(own) || matches!((count, others.len()), (0 | 1, 0) | (0, 1))
}

/// Returns the environments of a stack that another one has none for; none of both is declared by a stack without any.
pub(in crate::cli) fn environments_without_peer(
    own: &BTreeSet<Name>,
    others: &BTreeSet<Name>,
) -> Vec<Name> {
    let default = BTreeSet::from([Name::new_static("default")]);
    let names = if own.is_empty() { &default } else { own };
    names.iter().filter(|name| !has_peer(name, own.len(), others)).cloned().collect()
}

/// Checks a declaration against the blocks of the other stack.
fn check_blocks(transfer: &TransferDeclaration, other: &Stack) -> Result<(), Box<Diagnostic>> {
    let TransferDeclaration { from, to, direction, shown, .. } = transfer;
    let declares = |at: &Address| {
        let mut within = other.resources.keys();
        within.find(|known| known.is_within(at)).cloned()
    };
    match direction {
        TransferDirection::Outgoing if declares(to).is_none() => {
            let detail =
                format!("No block of `{shown}` declares {to}, so its next apply would delete the object.");
            Err(wrong(transfer, detail, "write the block there first, or correct the address".to_owned()))
        }
        TransferDirection::Incoming if declares(from).is_some() => {
            let detail = format!("A block of `{shown}` still declares {from}.");
            Err(wrong(transfer, detail, "remove the block there, or remove this entry".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Checks a declaration against the `moved` entries of the other stack. Returns whether one of them belongs to it: without
/// it, that stack would delete or create the object. It can be removed once the move is applied, so a missing one is no
/// error of the files.
fn check_entries(
    transfer: &TransferDeclaration,
    project: &LoadedStack,
    other: &LoadedStack,
) -> Result<bool, Box<Diagnostic>> {
    let own = stack_files::full_path(&project.directory);
    let names_own = |entry: &&TransferDeclaration| {
        stack_files::full_path(&other.other_directory(&entry.directory)) == own
    };
    let entries = other.stack.declarations.transfers.iter().filter(|entry| entry.is_about_same(transfer));
    let (back, elsewhere): (Vec<_>, Vec<_>) = entries.partition(names_own);
    let TransferDeclaration { from, shown, .. } = transfer;
    let help = || "correct or remove one of the two entries".to_owned();
    if transfer.direction == TransferDirection::Incoming
        && let Some(entry) = elsewhere.first()
    {
        let detail = format!("An entry of `{shown}` moves {} to `{}`, not here.", entry.from, entry.shown);
        return Err(wrong(transfer, detail, help()));
    }
    if let Some(entry) = back.iter().find(|entry| !entry.agrees_with(transfer)) {
        let detail = format!(
            "An entry of `{shown}` moves {} to {}, and this one moves {from} to {}.",
            entry.from, entry.to, transfer.to
        );
        return Err(wrong(transfer, detail, help()));
    }
    Ok(!back.is_empty())
}

/// The ledgers that a stack's ledger names as the other ones of its transfers.
pub(in crate::cli) struct RecordedPeers<'a> {
    /// The stack whose ledger names them.
    pub(in crate::cli) project: &'a LoadedStack,
    /// The actor, as `user@host`.
    pub(in crate::cli) who: &'a str,
    /// Time after which a request of a displaced lock holder can no longer take effect.
    pub(in crate::cli) effect: std::time::Duration,
}

impl RecordedPeers<'_> {
    /// Returns the settings by which the other ledger is opened, and the locations where it may be, the most likely one
    /// first.
    fn candidates(&self, peer: &LedgerPeer) -> (&Settings, Vec<LedgerLocation>) {
        let beside =
            peer.directory.as_ref().map(|directory| self.project.directory.join(directory.as_str()));
        let own = &self.project.settings;
        let settings = beside
            .as_ref()
            .map_or(own, |directory| own.of_peer(&stack_files::full_path(directory), &peer.environment));
        let place_in =
            |directory: &PathBuf| ledger_settings::place_of(settings, (&peer.stack, false), directory).ok();
        let mut found: Vec<LedgerLocation> = beside.iter().filter_map(place_in).collect();
        // A recorded directory is on this machine; another recorded backend could be anyone's.
        let recorded = LedgerLocation::parse(&peer.location).ok();
        found.extend(recorded.filter(|place| matches!(place, LedgerLocation::Directory(_))));
        found.dedup();
        (settings, found)
    }

    async fn find(
        &self,
        peer: &LedgerPeer,
    ) -> Result<Option<(&Settings, LedgerLocation, Ledger)>, StoreError> {
        let (settings, places) = self.candidates(peer);
        let key = open::seal_key(settings).map_err(|failure| unreachable_peer(peer, &failure))?;
        for place in places {
            let read = CommandStore::read(&place, &peer.stack, &peer.environment, key.as_ref()).await;
            match read {
                Ok(Some(ledger)) if ledger.identity.lineage == peer.lineage => {
                    return Ok(Some((settings, place, ledger)));
                }
                Ok(_) | Err(StoreError::Foreign { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn unreachable_peer(peer: &LedgerPeer, failure: &CliFailure) -> StoreError {
    StoreError::Shared { action: "open", place: peer.location.clone(), reason: failure.message.clone() }
}

impl PeerLedgers for RecordedPeers<'_> {
    type Store = CommandStore;

    async fn read(&self, peer: &LedgerPeer) -> Result<Option<Ledger>, StoreError> {
        Ok(self.find(peer).await?.map(|(.., ledger)| ledger))
    }

    async fn open(&self, peer: &LedgerPeer) -> Result<Journal<CommandStore>, StoreError> {
        let Some((settings, place, _)) = self.find(peer).await? else {
            let reason = format!("there is no ledger of {peer} with the recorded identity");
            return Err(StoreError::Shared { action: "open", place: peer.location.clone(), reason });
        };
        let identity = LedgerIdentity::new_random(&peer.stack, &peer.environment, &SystemRandom);
        let terms =
            LedgerOpenOptions { identity: &identity, effect: self.effect, force: None, vouched: &[] };
        let opened = ledger_io::open_at(settings, self.who, &place, &terms).await;
        opened.map_err(|failure| unreachable_peer(peer, &failure))
    }
}
