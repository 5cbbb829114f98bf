//! The written pages: each has one row here. A test finds a text without a row, and a row whose text is not
//! the file.

use super::embedded;

/// Address of each written page, in the order in which a section lists them.
pub(super) const ADDRESSES: &[&str] = &[
    "index",
    "tutorials/first-stack",
    "tutorials/existing-account",
    "tutorials/team",
    "how-to/use-a-real-account",
    "how-to/several-environments",
    "how-to/reuse-configuration",
    "how-to/many-stacks",
    "how-to/apply-on-many-machines",
    "how-to/rename-without-replacement",
    "how-to/move-between-stacks",
    "how-to/replace-safely",
    "how-to/delete-data",
    "how-to/import-one-object",
    "how-to/deploy-an-app",
    "how-to/one-off-actions",
    "how-to/secrets-from-a-vault",
    "how-to/keep-secrets-in-the-ledger",
    "how-to/test-a-stack",
    "how-to/rehearse-on-the-emulator",
    "how-to/review-in-ci",
    "how-to/budgets-and-freezes",
    "how-to/understand-costs",
    "how-to/drift-as-a-cron",
    "how-to/share-a-ledger",
    "how-to/move-a-ledger",
    "how-to/recover-a-lost-ledger",
    "how-to/survive-an-outage",
    "how-to/find-what-is-wrong",
    "how-to/upgrade-stead",
    "how-to/set-up-your-editor",
    "how-to/convert-files",
    "explanation/guarantees",
    "explanation/how-a-plan-is-made",
    "explanation/identity",
    "explanation/the-ledger",
    "explanation/secrets",
    "explanation/rate-limits",
    "explanation/threat-model",
    "explanation/privacy",
    "explanation/stability",
    "explanation/libraries",
    "coming-from/terraform",
    "coming-from/pulumi",
    "coming-from/compose",
    "reference/the-language",
];

/// Returns the text of a written page.
pub(super) fn text(address: &str) -> &'static str {
    embedded::PAGES.text(address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the pages are files")]

    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn each_text_has_a_row_and_is_its_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/pages");
        let mut files = Vec::new();
        collect(&root, &mut files);
        let files: BTreeSet<String> = files
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().with_extension("").to_string_lossy().into_owned())
            .collect();
        let rows: BTreeSet<String> = ADDRESSES.iter().map(|address| (*address).to_owned()).collect();
        assert_eq!(files, rows);
        assert_eq!(rows.len(), ADDRESSES.len());
        for address in ADDRESSES {
            let file = std::fs::read_to_string(root.join(format!("{address}.md"))).unwrap();
            assert!(text(address) == file, "{address}");
        }
    }
}
