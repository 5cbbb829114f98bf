//! Merge of the documents of one unit: top-level blocks of the same keyword are joined, in whatever file they are.
//! In: documents in file order. Out: `MergedDocuments`, which borrow from them. A name that occurs again or is
//! illegal is reported, and the first one is kept.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::diagnostics::hints::other_tools;
use crate::config::keywords;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, named_entries};
use crate::model::address::{Name, is_legal_segment};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::{Kind, Registry};

/// Entries of all blocks of one keyword, by name.
pub(in crate::config) type NamedEntries<'d> = BTreeMap<Name, &'d DocumentEntry>;

/// Top level of a unit, joined over all files; each name occurs once. A block that is not written is empty or `None`.
#[derive(Debug, Default)]
pub(in crate::config) struct MergedDocuments<'d> {
    /// All `stead: 1` entries; several files may have one.
    pub(in crate::config) stead: Vec<&'d DocumentEntry>,
    /// All `stack: NAME` entries; several files may have one.
    pub(in crate::config) stack: Vec<&'d DocumentEntry>,
    /// The `backend` entry; of several, which is reported, the last.
    pub(in crate::config) backend: Option<&'d DocumentEntry>,
    /// The `secrets` block with the recipients of the ledger's secrets; of several, which is reported, the last.
    pub(in crate::config) secrets: Option<&'d DocumentEntry>,
    /// Declarations of variables, by name.
    pub(in crate::config) vars: NamedEntries<'d>,
    pub(in crate::config) environments: NamedEntries<'d>,
    /// Local values, by name.
    pub(in crate::config) locals: NamedEntries<'d>,
    pub(in crate::config) outputs: NamedEntries<'d>,
    /// Calls of modules (`use`), by name.
    pub(in crate::config) uses: NamedEntries<'d>,
    /// Other stacks whose outputs are read, by name.
    pub(in crate::config) stacks: NamedEntries<'d>,
    pub(in crate::config) policies: NamedEntries<'d>,
    /// All `moved` lists; several files may have one.
    pub(in crate::config) moved: Vec<&'d DocumentEntry>,
    /// All `import` lists; several files may have one.
    pub(in crate::config) imports: Vec<&'d DocumentEntry>,
    /// All `removed` lists; several files may have one.
    pub(in crate::config) removed: Vec<&'d DocumentEntry>,
    /// Resource blocks at the top level, by kind and name.
    pub(in crate::config) blocks: KindEntries<'d>,
    /// Data lookups by kind and name: objects that this stack does not manage.
    pub(in crate::config) data: KindEntries<'d>,
}

/// Named entries of each kind, by the kind's name.
pub(in crate::config) type KindEntries<'d> = BTreeMap<&'static str, (&'static Kind, NamedEntries<'d>)>;

/// Merges a module's documents. Reports top-level keywords that only a stack may have; their entries are merged,
/// but nothing reads them.
pub(in crate::config) fn merge_module<'d>(
    registry: &Registry,
    documents: &'d [Document],
    problems: &DiagnosticCollector,
) -> MergedDocuments<'d> {
    let merged = merge_documents(registry, documents, problems);
    for entry in documents.iter().flat_map(|document| &document.root) {
        if keywords::find_word(keywords::TOP, &entry.key).is_some_and(|word| word.of_stacks) {
            problems.push(
                Diagnostic::error(codes::MODULE_BLOCK, "only a stack has this block")
                    .with_label(entry.key_span, "")
                    .detail(format!(
                        "This directory is used as a module, and a module has no `{}`.",
                        entry.key
                    ))
                    .help("pass values to a module by `with`, and read its values from `outputs`"),
            );
        }
    }
    merged
}

/// Merges documents. Reports unknown blocks, illegal names and names that occur again, and leaves them out.
pub(in crate::config) fn merge_documents<'d>(
    registry: &Registry,
    documents: &'d [Document],
    problems: &DiagnosticCollector,
) -> MergedDocuments<'d> {
    let mut merged = MergedDocuments::default();
    let mut above: Option<&DocumentEntry> = None;
    for entry in documents.iter().flat_map(|document| &document.root) {
        let empty = above.replace(entry).filter(|above| above.value.value == NodeValue::Null);
        // The block is still used under its right name, so that references to it cause no further errors.
        let renamed = other_tools::renamed_block(&entry.key);
        if let Some(right) = renamed {
            problems.push(unknown_block(registry, entry).fix(entry.key_span, right));
        }
        match renamed.unwrap_or(&entry.key) {
            "stead" => merged.stead.push(entry),
            "stack" => merged.stack.push(entry),
            "backend" => {
                if let Some(first) = merged.backend.replace(entry) {
                    problems.push(duplicate_block("backend", first, entry));
                }
            }
            "secrets" => {
                if let Some(first) = merged.secrets.replace(entry) {
                    problems.push(duplicate_block("secrets", first, entry));
                }
            }
            "vars" => gather_entries(&mut merged.vars, entry, problems),
            "environments" => gather_entries(&mut merged.environments, entry, problems),
            "locals" => gather_entries(&mut merged.locals, entry, problems),
            "outputs" => gather_entries(&mut merged.outputs, entry, problems),
            // Included files were already read; their documents are in the same list.
            "include" => {}
            "use" => gather_entries(&mut merged.uses, entry, problems),
            "stacks" => gather_entries(&mut merged.stacks, entry, problems),
            "data" => gather_data(registry, &mut merged.data, entry, problems),
            "policy" => gather_entries(&mut merged.policies, entry, problems),
            "moved" => merged.moved.push(entry),
            "import" => merged.imports.push(entry),
            "removed" => merged.removed.push(entry),
            name => {
                if let Some(kind) = registry.top_level().find(|kind| kind.name == name) {
                    let (_, blocks) = merged.blocks.entry(kind.name).or_insert((kind, NamedEntries::new()));
                    gather_entries(blocks, entry, problems);
                } else {
                    problems.push(with_misplaced_hint(unknown_block(registry, entry), empty));
                }
            }
        }
    }
    merged
}

/// Returns only the environments, which must be known before the documents are edited and merged. Problems with
/// them are reported by the complete merge.
pub(in crate::config) fn merge_environments(documents: &[Document]) -> NamedEntries<'_> {
    let mut environments = NamedEntries::new();
    let root = documents.iter().flat_map(|document| &document.root);
    for entry in root.filter(|entry| entry.key == "environments") {
        gather_entries(&mut environments, entry, &DiagnosticCollector::default());
    }
    environments
}

fn gather_data<'d>(
    registry: &Registry,
    into: &mut KindEntries<'d>,
    block: &'d DocumentEntry,
    problems: &DiagnosticCollector,
) {
    let Some(kinds) = named_entries(&block.value) else {
        problems.push(not_a_block(&block.key, &block.value));
        return;
    };
    for entry in kinds {
        match registry.top_level().find(|kind| kind.name == entry.key) {
            Some(kind) => {
                let (_, names) = into.entry(kind.name).or_insert((kind, NamedEntries::new()));
                gather_entries(names, entry, problems);
            }
            None => problems.push(no_kind(registry, entry)),
        }
    }
}

fn no_kind(registry: &Registry, entry: &DocumentEntry) -> Diagnostic {
    let problem = Diagnostic::error(codes::DATA, "objects of this kind cannot be looked up")
        .with_label(entry.key_span, "")
        .detail(format!("`data` contains lookups by kind, and `{}` is not such a kind.", entry.key));
    match nearest_name(&entry.key, registry.top_level().map(|kind| kind.name)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
        None => problem.help("write `data: { KIND: { NAME: { name: … } } }`"),
    }
}

fn gather_entries<'d>(
    into: &mut NamedEntries<'d>,
    block: &'d DocumentEntry,
    problems: &DiagnosticCollector,
) {
    let Some(entries) = named_entries(&block.value) else {
        problems.push(no_names(&block.key, &block.value));
        return;
    };
    for entry in entries {
        if !is_legal_segment(&entry.key) {
            problems.push(illegal_name(entry));
            continue;
        }
        if let Some(first) = into.get(&entry.key) {
            problems.push(duplicate_block(&entry.key, first, entry));
        } else {
            into.insert(entry.key.clone(), entry);
        }
    }
}

/// Returns the problem of a value that is no map where `name` needs one.
pub(in crate::config) fn not_a_block(name: &str, node: &Node) -> Diagnostic {
    let problem = Diagnostic::error(codes::NOT_A_BLOCK, "a map was expected")
        .with_label(node.span, "")
        .detail(format!("`{name}` holds named entries."));
    match other_tools::suggest_map_value(name, node) {
        Some((help, Some(right))) => problem.help(help).fix(node.span, right),
        Some((help, None)) => problem.help(help),
        None => problem.help(format!("write `{name}: {{ NAME: … }}`")),
    }
}

/// Returns the problem of a value where `name` needs blocks with names.
pub(in crate::config) fn no_names(name: &str, node: &Node) -> Diagnostic {
    let problem = not_a_block(name, node);
    match other_tools::suggest_named_blocks(name, node) {
        Some(help) => problem.help(help),
        None => problem,
    }
}

fn duplicate_block(name: &str, first: &DocumentEntry, second: &DocumentEntry) -> Diagnostic {
    Diagnostic::error(codes::DECLARED_TWICE, "a name is declared twice")
        .with_label(second.key_span, "declared again here")
        .with_label(first.key_span, "declared here first")
        .detail(format!("There are two declarations of `{name}`."))
        .help("keep one of the two")
}

/// Returns the diagnostic of a name that is illegal in an address, with a legal one if there is a similar one.
pub(in crate::config) fn illegal_name(entry: &DocumentEntry) -> Diagnostic {
    let legal: String = entry
        .key
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '_' })
        .collect();
    let problem = Diagnostic::error(codes::ILLEGAL_NAME, "this name cannot be part of an address")
        .with_label(entry.key_span, "")
        .detail("Names hold a-z, 0-9, _ and - only, so that addresses need no quotes in a shell.");
    if is_legal_segment(&legal) {
        problem.help(format!("write `{legal}`")).fix(entry.key_span, legal)
    } else {
        problem
    }
}

/// Adds a hint where an unknown block may belong: below `empty`, the entry before it without a
/// value. `None` adds nothing.
fn with_misplaced_hint(problem: Diagnostic, empty: Option<&DocumentEntry>) -> Diagnostic {
    match empty.filter(|_| problem.fix.is_none()) {
        Some(above) => {
            problem.help(format!("indent it below `{}`, if that is where it belongs", above.key))
        }
        None => problem,
    }
}

fn unknown_block(registry: &Registry, entry: &DocumentEntry) -> Diagnostic {
    let name = entry.key.as_str();
    let problem =
        Diagnostic::error(codes::UNKNOWN_BLOCK, "this block is not known").with_label(entry.key_span, "");
    if let Some((parent, collection)) = registry.kind(name).and_then(Kind::child_of) {
        return problem
            .detail(format!("A {name} is written inside its {parent}, under `{collection}`."))
            .help(format!("write `{parent}: {{ NAME: {{ {collection}: {{ … }} }} }}`"));
    }
    if let Some(help) = other_tools::block_hint(name) {
        return problem.detail(format!("There is no block `{name}`.")).help(help);
    }
    let mut known: Vec<&str> =
        registry.top_level().map(|kind| kind.name).chain(keywords::word_names(keywords::TOP)).collect();
    known.sort_unstable();
    match nearest_name(name, known.iter().copied()) {
        Some(near) => problem
            .detail(format!("There is no block `{name}`."))
            .help(format!("did you mean `{near}`?"))
            .fix(entry.key_span, near),
        None => problem
            .detail(format!("There is no block `{name}`."))
            .help(format!("blocks are: {}", known.join(", "))),
    }
}
