//! The example stacks that `init` writes, each in both syntaxes. In: template, syntax and name. Out: paths and
//! contents; nothing is written. Pure.

use clap::ValueEnum;

use crate::cli::args::values::FileSyntax;
use crate::model::address::is_legal_segment;

/// A file to write: its path relative to the stack's directory, and its content.
pub type TemplateFile = (&'static str, String);

/// Stack name to use if the directory's name cannot be made a legal one.
const DEFAULT_STACK_NAME: &str = "my-stack";

/// Content of `.gitignore`: files that must not be committed.
const GITIGNORE: &str =
    "# The local ledger, and secrets that were delivered to files.\n.stead/\nsecrets/\n";

/// Placeholder for the stack's name in the templates.
const NAME: &str = "STACK_NAME";

/// Returns the files of an example stack; `stack` is a legal name, which is inserted unquoted.
#[must_use]
pub fn template_files(template: StackTemplate, format: FileSyntax, stack: &str) -> Vec<TemplateFile> {
    let (path, text) = match (template, format) {
        (StackTemplate::Minimal, FileSyntax::Yaml) => ("stead.yaml", include_str!("scaffold/minimal.yaml")),
        (StackTemplate::Minimal, FileSyntax::Kdl) => ("stead.kdl", include_str!("scaffold/minimal.kdl")),
        (StackTemplate::Shop, FileSyntax::Yaml) => ("stead.yaml", include_str!("scaffold/shop.yaml")),
        (StackTemplate::Shop, FileSyntax::Kdl) => ("stead.kdl", include_str!("scaffold/shop.kdl")),
    };
    vec![(path, text.replace(NAME, stack)), (".gitignore", GITIGNORE.to_owned())]
}

/// Returns a legal stack name derived from a directory's name: lower case, other characters replaced by `-`,
/// at most 64 characters.
#[must_use]
pub fn stack_name(directory: &str) -> String {
    let lower = directory.to_lowercase();
    let legal = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' { c } else { '-' };
    let name: String = lower.chars().map(legal).take(64).collect();
    let name = name.trim_matches('-');
    if is_legal_segment(name) { name.to_owned() } else { DEFAULT_STACK_NAME.to_owned() }
}

/// An example stack that `init` writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum StackTemplate {
    /// One network and one virtual machine.
    #[default]
    Minimal,
    /// Machines, storage, backups and a database in two environments.
    Shop,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: [(StackTemplate, FileSyntax); 4] = [
        (StackTemplate::Minimal, FileSyntax::Yaml),
        (StackTemplate::Minimal, FileSyntax::Kdl),
        (StackTemplate::Shop, FileSyntax::Yaml),
        (StackTemplate::Shop, FileSyntax::Kdl),
    ];

    /// The paths of a YAML mapping, two levels deep: what the stack declares.
    fn yaml_paths(text: &str) -> BTreeSet<String> {
        let document: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
        let name = |key: &serde_yaml::Value| key.as_str().unwrap().to_owned();
        let mut paths = BTreeSet::new();
        for (key, value) in document.as_mapping().unwrap() {
            match value.as_mapping() {
                Some(inner) => {
                    paths.extend(inner.keys().map(|inner| format!("{}.{}", name(key), name(inner))));
                }
                None => _ = paths.insert(name(key)),
            }
        }
        paths
    }

    /// Returns the paths that a KDL document declares, in the form of `yaml_paths`.
    fn kdl_paths(text: &str) -> BTreeSet<String> {
        let document = kdl::KdlDocument::parse_v2(text).unwrap();
        let blocks = ["vars", "environments", "locals", "outputs"];
        let mut paths = BTreeSet::new();
        for node in document.nodes() {
            let name = node.name().value();
            if blocks.contains(&name) {
                let children = node.children().into_iter().flat_map(kdl::KdlDocument::nodes);
                paths.extend(children.map(|child| format!("{name}.{}", child.name().value())));
                paths.extend(
                    node.entries().iter().filter_map(|e| Some(format!("{name}.{}", e.name()?.value()))),
                );
            } else if name == "stead" || name == "stack" {
                paths.insert(name.to_owned());
            } else {
                let label = node.entries()[0].value().as_string().unwrap();
                paths.insert(format!("{name}.{label}"));
            }
        }
        paths
    }

    #[test]
    fn both_syntaxes_of_a_template_declare_the_same_resources() {
        for template in [StackTemplate::Minimal, StackTemplate::Shop] {
            let text = |format| template_files(template, format, "demo")[0].1.clone();
            assert_eq!(
                yaml_paths(&text(FileSyntax::Yaml)),
                kdl_paths(&text(FileSyntax::Kdl)),
                "{template:?}"
            );
        }
    }

    #[test]
    fn every_template_contains_the_stack_name_and_explanatory_comments() {
        for (template, format) in ALL {
            let written = template_files(template, format, "demo");
            assert!(!written[0].1.contains(NAME) && written[0].1.contains("demo"));
            assert!(written[0].1.lines().all(|line| line.len() <= 100 && !line.ends_with(' ')));
            assert_eq!(written[1].0, ".gitignore");
        }
    }

    #[test]
    fn the_stack_name_is_derived_from_the_directory() {
        let table = [
            ("shop", "shop"),
            ("My Shop!", "my-shop"),
            ("Überraschung", "berraschung"),
            ("..", "my-stack"),
            ("", "my-stack"),
            ("a.b", "a-b"),
        ];
        for (directory, name) in table {
            assert_eq!(stack_name(directory), name);
        }
    }
}
