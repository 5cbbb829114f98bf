//! Reference pages for the codes in plans: effects of changes, which `plan` declares, and blockers, which have a row
//! here.

use serde::Serialize;

use crate::model::schema::Effect;

/// The reference page for a plan code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanCodePage {
    /// The code, as it is in the plan's JSON document.
    pub code: String,
    /// Where in a plan the code appears.
    pub stands: &'static str,
    /// Meaning of the code, as a sentence.
    pub meaning: String,
    /// What the user can do about it.
    pub remedy: &'static str,
}

/// Blockers, sorted: code, meaning and remedy.
const BLOCKS: &[(&str, &str, &str)] = &[
    (
        "account",
        "The ledger belongs to another account than the key.",
        "Use that account's key, or another environment.",
    ),
    (
        "adopt",
        "An object cannot be adopted as requested.",
        "Check the id, and who owns the object: stead ls --unmanaged.",
    ),
    (
        "catalog",
        "A name is not in the service's catalog.",
        "stead catalog TABLE lists the names that it has.",
    ),
    (
        "choice",
        "A value is not one of those that the object offers now.",
        "Choose one of those that the message lists.",
    ),
    (
        "cycle",
        "Steps, or resources, wait for each other: the message names each with its line.",
        "Use the remedy that the message marks as tried; otherwise revert one of the changes for a first apply.",
    ),
    (
        "deletion_budget",
        "Many objects would be deleted at once.",
        "If this is intended: --allow-deletes. Otherwise look for a wrong environment or a missing file.",
    ),
    (
        "exists",
        "A live object has the name or network already.",
        "Choose another, or adopt the live object: --adopt ADDRESS=ID.",
    ),
    (
        "expression",
        "An expression cannot be evaluated with the live values.",
        "Correct it: stead eval evaluates it.",
    ),
    (
        "failed",
        "The object is in a state from which it does not recover.",
        "Replace it: --replace ADDRESS; or ask the service's support to repair it.",
    ),
    (
        "grow_only",
        "A value that can only grow would shrink.",
        "Keep the live value: stead drift --accept PATH; or replace the object: --replace ADDRESS.",
    ),
    (
        "held",
        "An object that would be deleted is still used by one that stays.",
        "Remove or redirect what uses it first.",
    ),
    (
        "holds_data",
        "An object that holds data would be deleted, or replaced by an empty one, without approval.",
        "If this is intended: --replace ADDRESS for a replacement; for a deletion --delete-data ADDRESS, a `removed` entry with `action: delete`, or `lifecycle: { on_remove: delete }` before. Otherwise undo the change.",
    ),
    (
        "identity_missing",
        "The text of a kept secret is needed, and no available identity can decrypt it.",
        "Set STEAD_AGE_IDENTITY to the file of an identity that is pinned.",
    ),
    (
        "late_effect",
        "An abandoned request may have taken effect after all.",
        "stead resolve lists it with the possible answers.",
    ),
    (
        "ledger_lost",
        "The ledger never recorded an object, and live objects have the names of the stack's resources.",
        "If the stack was applied before: stead recover. Else choose other names.",
    ),
    (
        "moved",
        "A `moved`, `import` or `removed` entry cannot be followed.",
        "Correct the entry that the message names.",
    ),
    (
        "other_directory",
        "The ledger is applied from another directory or repository than this one.",
        "Give this stack another name; or, if the ledger is this directory's: stead state adopt-directory.",
    ),
    (
        "policy",
        "A policy of the stack denies the plan.",
        "Change what the policy denies, or: stead apply --override POLICY --reason TEXT (recorded).",
    ),
    (
        "project",
        "The project that was given does not exist.",
        "Give a project's name or id with --project.",
    ),
    (
        "project_unknown",
        "Neither the ledger nor the service states the project of an object that would change.",
        "Use a key that can read the project, or forget the object: stead rm ADDRESS --keep.",
    ),
    (
        "protected",
        "A protected resource would be deleted or replaced.",
        "Set `lifecycle: { protect: false }` in its block, apply, and remove it then.",
    ),
    (
        "provisional",
        "The object was found after a lost response, is not confirmed, and would be deleted or replaced.",
        "Use stead resolve to decide whether it is the right one.",
    ),
    (
        "question",
        "The outcome of a request is not known, and a user must resolve it.",
        "stead resolve lists the request with the possible answers.",
    ),
    (
        "recipient_refused",
        "The stack names a recipient of kept secrets that your settings do not allow.",
        "Remove it from the stack, or add it to `allowed_recipients` if it is intended.",
    ),
    (
        "recipients_changed",
        "The stack names other recipients of kept secrets than those that the ledger has pinned.",
        "Undo the change; or, with a pinned identity: stead secret rekey.",
    ),
    (
        "replace_never",
        "A replacement is needed, but `lifecycle.replace` is never.",
        "Undo the change that forces it, or change `lifecycle.replace`.",
    ),
    (
        "rule",
        "The plan and the live objects together break a rule of the service.",
        "stead explain CODE explains the rule; the message names the code.",
    ),
    (
        "secret_lost",
        "A secret is neither in the ledger nor in its sink, or the sink has another one.",
        "Restore the sink, or: stead secret set ADDRESS, or: stead secret rotate ADDRESS. The secret of an object that shows it once: stead resolve ADDRESS lists the answers; all other resources can be applied.",
    ),
    (
        "sink_occupied",
        "A secret would replace content of its sink that stead did not deliver there.",
        "Move the content elsewhere; or allow stead to replace it: --overwrite-secret ADDRESS.",
    ),
    (
        "sink_on_runner",
        "A secret would be delivered to a file of a CI runner, which is deleted when its job ends.",
        "Add `secrets: { recipients: [age1…] }` to the stack, so that the ledger keeps a copy.",
    ),
    ("target", "A target of the plan does not exist.", "stead graph shows all resources."),
    (
        "unknown",
        "A value is known only after apply, but the plan needs it.",
        "Write a value that is known before the apply.",
    ),
    (
        "unknown_kind",
        "The ledger has a kind that this version does not know.",
        "Use the version of stead that made it.",
    ),
    ("unread", "Not all live objects could be read.", "Try again; the message names the request."),
];

/// Returns the code of an effect, as it is in JSON; `None` cannot occur, because effects serialize as strings.
fn effect_code(effect: Effect) -> Option<String> {
    serde_json::to_value(effect).ok()?.as_str().map(str::to_owned)
}

/// Returns the page for a plan code in lower case; `None` if the code is unknown.
pub(super) fn plan_code_page(name: &str) -> Option<PlanCodePage> {
    if let Some((code, meaning, remedy)) = BLOCKS.iter().find(|(code, ..)| *code == name) {
        let (code, meaning) = ((*code).to_owned(), (*meaning).to_owned());
        return Some(PlanCodePage {
            code,
            stands: "blocks: the plan is shown, and not applied",
            meaning,
            remedy,
        });
    }
    let effect = Effect::ALL.into_iter().find(|effect| effect_code(*effect).as_deref() == Some(name))?;
    Some(PlanCodePage {
        code: name.to_owned(),
        stands: "changes[].effects: additional effects of a change, after `!` in the text",
        meaning: format!("What happens to the object: {}.", effect.text()),
        remedy: if effect.disrupts() {
            "stead do asks for confirmation before an action with this effect; a plan shows which change has it, and why."
        } else {
            "Nothing is disrupted by it."
        },
    })
}

/// Returns all plan codes, sorted.
pub(super) fn plan_code_names() -> Vec<String> {
    let blocks = BLOCKS.iter().map(|(code, ..)| (*code).to_owned());
    let mut names: Vec<String> = blocks.chain(Effect::ALL.into_iter().filter_map(effect_code)).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_code_is_unique_and_has_a_page() {
        let names = plan_code_names();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        assert!(BLOCKS.is_sorted_by(|a, b| a.0 < b.0));
        for name in names {
            let page = plan_code_page(&name).unwrap();
            assert!(page.meaning.ends_with('.') && page.remedy.ends_with('.'), "{page:?}");
        }
        assert!(plan_code_page("data_loss").is_some_and(|page| page.meaning.contains("lost for good")));
    }
}
