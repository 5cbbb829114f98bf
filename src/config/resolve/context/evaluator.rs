//! What the resolution reads: the inputs that all steps share (`ConfigContext`), and the names that an expression
//! can refer to at one point (`Evaluator`). Neither adds a block, a value or a resource: steps return what they
//! add, and `resolve_unit` adds it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::HashMap;

use super::block_index::BlockIndex;
use super::data_index::DataSources;
use super::scope::{EvaluationSite, ModuleScope, ResolvedValue};
use crate::config::codes;
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::diagnostics::hints::other_tools;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::files::Files;
use crate::config::input::request::{FilesRef, SecretAccess};
use crate::config::input::source_dir::SourceError;
use crate::config::keywords;
use crate::config::merge::blocks::MergedDocuments;
use crate::config::merge::overrides::Overrides;
use crate::config::stack::model::DeferredSecret;
use crate::config::syntax::budget::too_large;
use crate::config::syntax::document::Node;
use crate::model::address::{Address, Name};
use crate::model::budget::{Budget, BudgetExceeded};
use crate::model::cel::{CelProgram, SyntaxError};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::evaluate::evaluate_within;
use crate::model::expression::{AttributeLookup, EvaluationError, Expression};
use crate::model::schema::Registry;
use crate::model::source::{SourceId, Sources, Span};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value};

/// Resolves a node to which no schema applies: a value of `for_each` is resolved where `each.value` is read, and
/// may itself be any expression. Returns `None` after a problem that was reported.
pub(in crate::config) type ResolveNode<'d> =
    for<'e, 'f> fn(&Evaluator<'e, 'd>, &'e Node, EvaluationSite<'f, 'd>) -> Option<ResolvedValue>;

/// Inputs that every step of `resolve` and of `check` reads: the schemas, the sources, the parsed files, the request,
/// and the collector of problems. No step changes an input; the caches and the records behind `RefCell` only grow.
pub(in crate::config) struct ConfigContext<'d> {
    pub(in crate::config) registry: Registry,
    pub(in crate::config) sources: &'d Sources,
    pub(in crate::config) problems: DiagnosticCollector,
    /// Resolves the values that a `for_each` writes out. A function pointer, because the resolution of a node is
    /// recursive over files that stand above this one.
    pub(in crate::config) resolve_written: ResolveNode<'d>,
    /// Budget to which every value is charged before it is built.
    pub(in crate::config) budget: &'d Budget,
    /// Reads files below the stack's directory.
    pub(in crate::config) root_files: FilesRef<'d>,
    /// Name of the stack; empty if it has no valid one, which was reported.
    pub(in crate::config) stack: Name,
    /// Name of the environment: `default` if the stack declares none, empty if none could be chosen.
    pub(in crate::config) env: Name,
    /// Merged documents of the modules, by unit number; number 0, the stack itself, is empty here.
    pub(in crate::config) modules: &'d [MergedDocuments<'d>],
    /// Directories of the units, by unit number.
    pub(in crate::config) module_dirs: &'d [ConfigPath],
    /// Unit number of each module call, by the span of its `source`.
    pub(in crate::config) module_calls: &'d BTreeMap<Span, usize>,
    /// Spans of the values that the environment's `set` replaced.
    pub(in crate::config) replaced_spans: &'d BTreeSet<Span>,
    /// Overrides of values in instances and modules.
    pub(in crate::config) overrides: Overrides<'d>,
    /// Plaintext of the deferred secrets whose values this run has, by the paths of their variables.
    pub(in crate::config) available_secrets: &'d BTreeMap<Name, Secret>,
    /// Variable files: no diagnostic may show their content, because any value in them may be confidential.
    pub(in crate::config) var_files: Vec<SourceId>,
    /// Whether a placeholder is used as if it were the secret, because the run creates nothing real.
    pub(in crate::config) accepts_placeholders: bool,
    /// Whether a secret without a value is a problem, and whether sources of secrets may be read at all.
    pub(in crate::config) secret_access: SecretAccess,
    /// Whether the stack has a `secrets` block, valid or not.
    pub(in crate::config) keeps_secrets: bool,
    /// Variables that are deferred secrets, by path; every declaration that is read adds its own.
    pub(in crate::config) deferred_secrets: RefCell<BTreeMap<Name, DeferredSecret>>,
    /// Spans of the `deliver_secret` entries, by the addresses of their secrets: `vars.token`, `vm.web`.
    pub(in crate::config) sink_spans: RefCell<BTreeMap<Name, Span>>,
    /// Cache of parsed expressions and of syntax errors, by source text.
    pub(in crate::config) programs: RefCell<HashMap<String, Result<Rc<CelProgram>, SyntaxError>>>,
    /// Cache of the digests of source directories, by path: instances of one block often share theirs.
    pub(in crate::config) directories: RefCell<BTreeMap<Name, Result<Name, SourceError>>>,
}

/// What an expression can refer to at one point of the resolution. It only reads: the steps that use it return what
/// they add, and `resolve_unit` adds it.
#[derive(Clone, Copy)]
pub(in crate::config) struct Evaluator<'e, 'd> {
    pub(in crate::config) context: &'e ConfigContext<'d>,
    /// Scope of the unit that is being resolved.
    pub(in crate::config) scope: &'e ModuleScope,
    /// Blocks that are declared so far.
    pub(in crate::config) blocks: &'e BlockIndex<'d>,
    /// Data lookups and other stacks that are declared so far.
    pub(in crate::config) data: &'e DataSources,
}

/// Source of live values before anything is read: every attribute is unknown, and no object is complete.
pub(in crate::config) struct NoLiveValues;

impl AttributeLookup for NoLiveValues {
    fn attribute(&self, address: &Address, _attribute: Option<&str>) -> Value {
        Value::unknown(vec![address.clone()])
    }

    fn object(&self, _address: &Address) -> (Attributes, bool) {
        (Attributes::new(), false)
    }
}

impl<'d> ConfigContext<'d> {
    /// Reports a problem of the site's instance: the same problem of several instances becomes one diagnostic.
    pub(in crate::config) fn report_problem(&self, site: EvaluationSite<'_, 'd>, diagnostic: Diagnostic) {
        self.problems.push_in(site.instance, diagnostic);
    }

    /// Unwraps the result of a charge; a value that exceeds the stack's budget is reported, and `None`.
    pub(in crate::config) fn report_exceeded<T>(
        &self,
        charged: Result<T, BudgetExceeded>,
        span: Span,
        site: EvaluationSite<'_, 'd>,
    ) -> Option<T> {
        if charged.is_err() {
            self.report_problem(site, too_large(span));
        }
        charged.ok()
    }

    /// Evaluates an expression without live objects: a value that depends on one is unknown. `None` after an error,
    /// of which only an exceeded budget is reported; the others are reported where the expression is used.
    pub(in crate::config) fn known_now(&self, expression: &Expression, span: Span) -> Option<Value> {
        match evaluate_within(expression, &NoLiveValues, self.budget) {
            Ok(value) => Some(value),
            Err(EvaluationError::TooLarge) => {
                self.report_exceeded(Err(BudgetExceeded), span, EvaluationSite::top_level(None))
            }
            Err(_) => None,
        }
    }

    /// Returns whether a name is a valid root after a `$`.
    pub(in crate::config) fn is_root(&self, name: &str) -> bool {
        keywords::find_word(keywords::ROOTS, name).is_some()
            || self.registry.top_level().any(|kind| kind.name == name)
    }

    /// Parses the text between `${` and `}`. Each distinct text is parsed once, whether it is correct or not: the
    /// instances of a block evaluate the same expression.
    pub(in crate::config) fn parse_program(&self, source: &str) -> Result<Rc<CelProgram>, SyntaxError> {
        if let Some(known) = self.programs.borrow().get(source) {
            return known.clone();
        }
        let program = CelProgram::parse(source).map(Rc::new);
        self.programs.borrow_mut().insert(source.to_owned(), program.clone());
        program
    }

    /// Returns the span of an expression within a scalar; the scalar's own span if the file contains the expression
    /// with escapes or over several lines.
    pub(in crate::config) fn span_within(&self, span: Span, words: &str) -> Span {
        self.locate_text(span, words, |text| text.find(words)).unwrap_or(span)
    }

    /// Returns the span of a path's segment within a scalar, a whole word after a dot; the scalar's own span if the
    /// segment is not found.
    pub(in crate::config) fn part_within(&self, span: Span, name: &str) -> Span {
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let find = |text: &str| {
            text.match_indices(name)
                .find(|(at, _)| text[..*at].ends_with('.') && !text[at + name.len()..].starts_with(goes_on))
                .map(|(at, _)| at)
        };
        self.locate_text(span, name, find).unwrap_or(span)
    }

    fn locate_text(&self, span: Span, words: &str, find: impl Fn(&str) -> Option<usize>) -> Option<Span> {
        let source = self.sources.get(span.source)?;
        let text = source.text.get(span.start as usize..span.end as usize)?;
        let start = span.start + u32::try_from(find(text)?).ok()?;
        Some(Span { source: span.source, start, end: start + u32::try_from(words.len()).ok()? })
    }
}

impl Evaluator<'_, '_> {
    /// Returns the address of a block of the stack or module that is being resolved.
    pub(in crate::config) fn scoped_address(&self, kind: &str, name: &str) -> Address {
        Address::new(kind, name).in_module(&self.scope.prefix)
    }

    /// Returns the files of the stack or module that is being resolved.
    pub(in crate::config) fn files(&self) -> &dyn Files {
        self.scope.files.as_deref().unwrap_or(self.context.root_files)
    }

    /// Returns the problem of a name that is no root: neither a kind nor a keyword such as `vars`. `written` is the
    /// text after the `$`, with its braces.
    pub(in crate::config) fn unknown_root(&self, root: &str, written: &str, span: Span) -> Diagnostic {
        let known = self
            .context
            .registry
            .top_level()
            .map(|kind| kind.name)
            .chain(keywords::word_names(keywords::ROOTS));
        let problem =
            Diagnostic::error(codes::UNKNOWN_ROOT, "this name means nothing here").with_label(span, "");
        // `module.shop.url`, as other tools have it: it is a name, and leads no further.
        let roots: Vec<&str> =
            keywords::word_names(keywords::ROOTS).filter(|known| *known != root).collect();
        let problem =
            problem.detail(format!("`{root}` is not a kind, and not one of {}.", roots.join(", ")));
        if self.scope.uses.contains_key(root) {
            return problem.help(format!("read an output of the module: `$use.{root}.OUTPUT`"));
        }
        let declared = [
            ("vars", self.scope.variables.expressions.contains_key(root)),
            ("locals", self.scope.locals.contains_key(root)),
        ];
        if let Some((of, _)) = declared.into_iter().find(|(_, is_declared)| *is_declared) {
            let help = format!("did you mean `${of}.{written}`? For the text itself, write `$${written}`");
            return problem.help(help);
        }
        if let Some(help) = other_tools::reference_hint(root) {
            return problem.help(format!("{help}; for the text itself, write `$${written}`"));
        }
        match nearest_name(root, known) {
            Some(near) => {
                problem.help(format!("did you mean `{near}`? For the text itself, write `$${written}`"))
            }
            None => problem.help(format!("for the text itself, write `$${written}`")),
        }
    }
}
