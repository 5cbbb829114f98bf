//! Confirms the loss of data on a terminal: a plan that lacks only this approval asks for the address of each object;
//! prompts and outcomes name the objects that hold data and are deleted.

use std::collections::BTreeSet;

use crate::apply::event::Outcome;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code::HOLDS_DATA;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Change, Plan};
use crate::report::text::escape;

/// Maximum number of addresses that a message lists.
const MAX_LISTED_ADDRESSES: usize = 20;

/// Asks for the addresses of the objects whose data the plan would delete without approval. Returns them after each
/// was typed; `None` if one was not, the plan has another blocker, or there is no terminal to ask on.
///
/// # Errors
/// When the terminal cannot be read.
pub(in crate::cli) async fn confirm_data_loss(
    ui: &Ui,
    plan: &Plan,
    overrides: &BTreeSet<Name>,
) -> Result<Option<BTreeSet<Address>>, CliFailure> {
    if !ui.interactive || ui.json || ui.ndjson || !plan.is_blocked(overrides) {
        return Ok(None);
    }
    let is_deleted = |address: &Address| {
        plan.changes.iter().any(|change| change.address == *address && change.action == Action::Delete)
    };
    let lacks_consent =
        |block: &&Blocker| block.code == HOLDS_DATA.code && block.address.as_ref().is_some_and(is_deleted);
    let mut asked: Vec<&Blocker> = plan.blocks.iter().filter(lacks_consent).collect();
    let others = plan.blocks.iter().filter(|block| !lacks_consent(block) && !block.only_freezes());
    if asked.is_empty() || others.count() > 0 || plan.has_open_denial(overrides) {
        return Ok(None);
    }
    asked.dedup_by(|a, b| a.address == b.address);
    let mut agreed = BTreeSet::new();
    for block in asked {
        let Some(address) = &block.address else { continue };
        ui.write_message(&escape::escape_line(&block.text));
        if !ui.ask_approval("", Some(address.as_str())).await? {
            return Ok(None);
        }
        agreed.insert(address.clone());
    }
    Ok(Some(agreed))
}

/// Returns the changes that delete an object together with its data, also the old one of a replacement.
fn data_losing_changes(plan: &Plan) -> impl Iterator<Item = &Change> {
    let holds = |change: &&Change| {
        let kind = REGISTRY.kind(&change.kind);
        kind.is_some_and(|kind| kind.data_bearing || kind.local_data)
    };
    let is_deletion = |change: &&Change| matches!(change.action, Action::Delete | Action::Replace);
    plan.changes.iter().filter(is_deletion).filter(holds)
}

fn summarize_addresses(changes: &[&Change]) -> String {
    let name = |change: &&Change| match change.action {
        Action::Replace => format!("{} (replaced)", change.address),
        _ => change.address.to_string(),
    };
    let first: Vec<String> = changes.iter().take(MAX_LISTED_ADDRESSES).map(name).collect();
    let more = changes.len().saturating_sub(MAX_LISTED_ADDRESSES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", first.join(", "))
}

/// Lists the objects with data that will be deleted, before the approval prompt; prints nothing if there are none.
pub(in crate::cli) fn warn_data_loss(ui: &Ui, plan: &Plan) {
    let all: Vec<&Change> = data_losing_changes(plan).collect();
    if !all.is_empty() {
        ui.write_message(&format!(
            "warning: this deletes objects with their data: {}",
            summarize_addresses(&all)
        ));
    }
}

/// Lists the objects that were deleted together with their data; prints nothing if there are none.
pub(in crate::cli) fn report_data_loss(ui: &Ui, plan: &Plan, outcome: &Outcome) {
    let is_done = |change: &&Change| outcome.done.contains(&change.address);
    let all: Vec<&Change> = data_losing_changes(plan).filter(is_done).collect();
    if !all.is_empty() {
        ui.write_message(&format!("Deleted objects with their data: {}", summarize_addresses(&all)));
    }
}
