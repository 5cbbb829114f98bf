//! Words and blocks of the language: what each one does, with an example.

use serde::Serialize;

/// What is known of a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordPage {
    /// The word.
    pub word: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// How it is written, in YAML.
    pub example: &'static str,
}

const fn word(word: &'static str, summary: &'static str, example: &'static str) -> WordPage {
    WordPage { word, summary, example }
}

/// All words, sorted.
const WORDS: &[WordPage] = &[
    word("backend", "Refuses the local ledger: settings say where it is kept.", "backend: required"),
    word(
        "data",
        "An object that this stack does not manage, found by what it is.",
        "data: { vpc: { shared: { name: shared } } }   # then $data.vpc.shared",
    ),
    word(
        "deliver_secret",
        "Where a secret goes that the service shows once, or that is generated: a file, a line of an env file, or a program of your own settings.",
        "deliver_secret: { file: ./secrets/ci-key }   # or { env_file: ./.env, variable: CI_KEY }, or { sink: vault }",
    ),
    word("depends_on", "What must be there first, where no reference shows it.", "depends_on: [vm.gate]"),
    word(
        "environments",
        "Environments: each gives values to variables, and may replace single paths.",
        "environments: { prod: { confirm: typed, vars: { size: large } } }",
    ),
    word(
        "final_snapshot",
        "A snapshot is made before the object goes, and stays; if it fails, nothing is deleted. Of VMs and volumes.",
        "lifecycle: { final_snapshot: true }",
    ),
    word(
        "for_each",
        "One instance for each key of a set, a list of texts or a map.",
        "for_each: [a, b]   # vm.web.a, vm.web.b",
    ),
    word(
        "generate",
        "A secret of so many characters that the first apply makes; it stays the same from then on.",
        "vars: { session_key: { type: secret, generate: 32 } }",
    ),
    word(
        "ignore_drift",
        "Attributes whose live side is left alone; an edit of the file still applies.",
        "lifecycle: { ignore_drift: [{ field: plan, reason: resized by hand, until: 2027-01-31 }] }",
    ),
    word(
        "import",
        "A live object that becomes a resource's.",
        "import: [{ to: database.main, id: dbk3x9q2 }]",
    ),
    word(
        "include",
        "Files that are read as if they stood beside this one.",
        "include: [../shared/network.stead.yaml]",
    ),
    word(
        "lifecycle",
        "What may happen to a resource: protect, on_remove, ignore_drift, replace, final_snapshot, timeouts.",
        "lifecycle: { protect: true, timeouts: { create: 30m } }",
    ),
    word("locals", "Values with a name, computed once.", "locals: { host: \"${env}.example.com\" }"),
    word(
        "moved",
        "A new address of what the ledger has under an old one.",
        "moved: [{ from: vm.frontend, to: vm.web }]",
    ),
    word(
        "on_remove",
        "What becomes of the object when its block goes: delete, or keep.",
        "lifecycle: { on_remove: keep }",
    ),
    word(
        "outputs",
        "What is printed when all is done, and what other stacks may read.",
        "outputs: { url: $app.web.url }",
    ),
    word(
        "policy",
        "A rule that a plan must pass: over self with on, or over plan.",
        "policy: { budget: { deny: \"${plan.monthly_after > 400.0}\", message: Over budget. } }",
    ),
    word(
        "protect",
        "No deletion and no replacement, remembered after the block is gone.",
        "lifecycle: { protect: \"${env == 'prod'}\" }",
    ),
    word(
        "removed",
        "What becomes of an object whose block is gone: forget, or delete.",
        "removed: [{ from: vm.legacy, action: forget }]",
    ),
    word(
        "replace",
        "Which comes first when an object is replaced, or that it never is.",
        "lifecycle: { replace: create_first }",
    ),
    word(
        "source",
        "A secret that a program of your own settings prints; in `use` and `stacks`, a directory.",
        "vars: { stripe_key: { type: secret, source: vault } }",
    ),
    word("stack", "The stack's name. One file of the directory says it.", "stack: shop"),
    word(
        "stacks",
        "Other stacks, whose outputs are read from their ledgers.",
        "stacks: { net: ../network }   # then $stacks.net.vpc_id",
    ),
    word("stead", "The version of the language. One file of the directory says it.", "stead: 1"),
    word(
        "timeouts",
        "How long creating, changing and deleting may take.",
        "lifecycle: { timeouts: { create: 30m, update: 1h, delete: 10m } }",
    ),
    word(
        "use",
        "A directory as a module: variables in, outputs out.",
        "use: { eu: { source: ../modules/shop, with: { size: small } } }   # eu.vm.web",
    ),
    word(
        "vars",
        "Variables: the only thing that environments differ in.",
        "vars: { size: { one_of: [small, large], default: small } }",
    ),
    word("when", "Whether this environment has the resource at all.", "when: \"${env == 'prod'}\""),
];

/// Returns what is known of a word.
pub(super) fn page(word: &str) -> Option<WordPage> {
    WORDS.iter().find(|page| page.word == word).cloned()
}

/// Returns every word.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|page| page.word)
}

/// Returns every word with its sentence.
pub(super) fn all() -> Vec<(&'static str, &'static str)> {
    WORDS.iter().map(|page| (page.word, page.summary)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_written_as_they_say() {
        assert!(WORDS.is_sorted_by(|a, b| a.word < b.word));
        for page in WORDS {
            assert!(page.summary.ends_with('.') && page.example.contains(page.word), "{}", page.word);
            let read: Result<serde_yaml::Value, _> = serde_yaml::from_str(page.example);
            assert!(read.is_ok_and(|value| value.is_mapping()), "{}", page.word);
        }
    }
}
