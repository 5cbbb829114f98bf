//! The codes of blockers, each with its meaning and its remedy. `stead explain` shows them; a blocker can have no other
//! code. Plans and JSON documents contain the codes, so a code never changes; its texts may.

/// The code of a blocker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockerCode {
    /// The code, as plans and JSON documents show it.
    pub code: &'static str,
    /// What it means, as a sentence.
    pub meaning: &'static str,
    /// What the user can do about it.
    pub remedy: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $meaning:literal, $remedy:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: BlockerCode = BlockerCode { code: $code, meaning: $meaning, remedy: $remedy };
        )*
        /// Every code of a blocker, sorted.
        pub const BLOCKER_CODES: &[BlockerCode] = &[$($name),*];
    };
}

codes! {
    ACCOUNT = "account",
        "The ledger belongs to another account than the key.",
        "Use that account's key, or another environment.";
    ADOPT = "adopt",
        "An object cannot be adopted as requested.",
        "Check the id, and who owns the object: stead ls --unmanaged.";
    CATALOG = "catalog",
        "A name is not in the service's catalog.",
        "stead catalog TABLE lists the names that it has.";
    CHOICE = "choice",
        "A value is not one of those that the object offers now.",
        "Choose one of those that the message lists.";
    CYCLE = "cycle",
        "Steps, or resources, wait for each other: the message names each with its line.",
        "Use the remedy that the message marks as tried; otherwise revert one of the changes for a first apply.";
    DELETION_BUDGET = "deletion_budget",
        "Many objects would be deleted at once.",
        "If this is intended: --allow-deletes. Otherwise look for a wrong environment or a missing file.";
    EXISTS = "exists",
        "A live object has the name or network already.",
        "Choose another, or adopt the live object: --adopt ADDRESS=ID.";
    EXPRESSION = "expression",
        "An expression cannot be evaluated with the live values.",
        "Correct it: stead eval evaluates it.";
    FAILED = "failed",
        "The object is in a state from which it does not recover.",
        "Repair or restore it; or save its data, delete it by hand, and plan again.";
    FINGERPRINT = "fingerprint",
        "The plan has no fingerprint, so it cannot be approved or applied.",
        "This is a defect of stead: please report it.";
    GROW_ONLY = "grow_only",
        "A value that can only grow would shrink.",
        "Keep the live value: stead drift --accept PATH; or replace the object: --replace ADDRESS.";
    HELD = "held",
        "An object that would be deleted is still used by one that stays.",
        "Remove or redirect what uses it first.";
    HOLDS_DATA = "holds_data",
        "An object that holds data would be deleted, or replaced by an empty one, without approval.",
        "If this is intended: --replace ADDRESS for a replacement; for a deletion --delete-data ADDRESS, a `removed` entry with `action: delete`, or `lifecycle: { on_remove: delete }` before. Otherwise undo the change.";
    IDENTITY_MISSING = "identity_missing",
        "The text of a kept secret is needed, and no available identity can decrypt it.",
        "Set STEAD_AGE_IDENTITY to the file of an identity that is pinned.";
    LATE_EFFECT = "late_effect",
        "An abandoned request may have taken effect after all.",
        "stead resolve lists it with the possible answers.";
    LEDGER_LOST = "ledger_lost",
        "The ledger never recorded an object, and live objects have the names of the stack's resources.",
        "If the stack was applied before: stead recover. Else choose other names.";
    LEDGER_PLACE = "ledger_place",
        "The ledger of the stack is in another directory of the repository: the directory was renamed, and git does not rename files that it ignores.",
        "Move the ledger to the directory of the stack: the message has the command.";
    MOVED = "moved",
        "A `moved`, `import` or `removed` entry cannot be followed.",
        "Correct the entry that the message names.";
    OTHER_DIRECTORY = "other_directory",
        "The ledger is applied from another directory or repository than this one.",
        "Give this stack another name; or, if the ledger is this directory's: stead state adopt-directory.";
    OUTPUT_READ = "output_read",
        "An output would be removed that another unit of the repository reads.",
        "Keep the output; or remove what reads it from the other stacks first. The message names the units.";
    OUTSIDE_READER = "outside_reader",
        "A unit of the repository that is not selected, or has errors, still uses what this unit would delete, or looks it up by an attribute that would change.",
        "Select that unit, too, or correct its errors; or, if it may lose what it uses: --force-readers STACK/ENVIRONMENT, with --all.";
    POLICY = "policy",
        "A policy of the stack denies the plan.",
        "Change what the policy denies, or: stead apply --override POLICY --reason TEXT (recorded).";
    PROJECT = "project",
        "The project that was given does not exist.",
        "Give a project's name or id with --project.";
    PROJECT_UNKNOWN = "project_unknown",
        "Neither the ledger nor the service states the project of an object that would change.",
        "Use a key that can read the project, or forget the object: stead rm ADDRESS --keep.";
    PROTECTED = "protected",
        "A protected resource would be deleted or replaced.",
        "Set `lifecycle: { protect: false }` in its block, apply, and remove it then.";
    PROVISIONAL = "provisional",
        "The object was found after a lost response, is not confirmed, and would be deleted or replaced.",
        "If it is the right one, confirm it: --adopt ADDRESS=ID.";
    QUESTION = "question",
        "The outcome of a request is not known, and a user must resolve it.",
        "stead resolve lists the request with the possible answers.";
    RECIPIENT_REFUSED = "recipient_refused",
        "The stack names a recipient of kept secrets that your settings do not allow.",
        "Remove it from the stack, or add it to `allowed_recipients` if it is intended.";
    RECIPIENTS_CHANGED = "recipients_changed",
        "The stack names other recipients of kept secrets than those that the ledger has pinned.",
        "Undo the change; or, with a pinned identity: stead secret rekey.";
    REMOVED_UNIT = "removed_unit",
        "The repository has the stack or the environment of a ledger no longer, and the ledger still has objects.",
        "To delete the objects: --remove STACK/ENVIRONMENT, with --all. To keep them, restore the files of the stack.";
    REPLACE_NEVER = "replace_never",
        "A replacement is needed, but `lifecycle.replace` is never.",
        "Undo the change that forces it, or change `lifecycle.replace`.";
    RULE = "rule",
        "The plan and the live objects together break a rule of the service.",
        "stead explain CODE explains the rule; the message names the code.";
    SECRET_LOST = "secret_lost",
        "A secret is neither in the ledger nor in its sink, or the sink has another one.",
        "Restore the sink, or: stead secret set ADDRESS, or: stead secret rotate ADDRESS. The secret of an object that shows it once: stead resolve ADDRESS lists the answers; all other resources can be applied.";
    SINK_OCCUPIED = "sink_occupied",
        "A secret would replace content of its sink that stead did not deliver there.",
        "Move the content elsewhere; or allow stead to replace it: --overwrite-secret ADDRESS.";
    SINK_ON_RUNNER = "sink_on_runner",
        "A secret would be delivered to a file of a CI runner, which is deleted when its job ends.",
        "Add `secrets: { recipients: [age1…] }` to the stack, so that the ledger keeps a copy.";
    TARGET = "target",
        "A target of the plan does not exist.",
        "stead graph shows all resources.";
    UNIT_CONFLICT = "unit_conflict",
        "Two units of the repository plan what excludes each other: one name or network twice, one object adopted twice, or one deletes what the other uses, or changes the attribute by which the other looks it up.",
        "Change one of the two; the message names both.";
    UNKNOWN = "unknown",
        "A value is known only after apply, but the plan needs it.",
        "Write a value that is known before the apply.";
    UNKNOWN_KIND = "unknown_kind",
        "The ledger has a kind that this version does not know.",
        "Use the version of stead that made it.";
    UNREAD = "unread",
        "Not all live objects could be read.",
        "Try again; the message names the request.";
    UPSTREAM = "upstream",
        "Another unit cannot be applied: this one reads its outputs, or would delete what it uses.",
        "Correct that unit first: its own messages are in the same output.";
}

#[cfg(test)]
mod tests {
    use super::BLOCKER_CODES;

    #[test]
    fn blocker_codes_are_sorted_unique_and_explained() {
        assert!(BLOCKER_CODES.is_sorted_by(|a, b| a.code < b.code));
        for code in BLOCKER_CODES {
            assert!(code.meaning.ends_with('.') && code.remedy.ends_with('.'), "{}", code.code);
        }
    }
}
