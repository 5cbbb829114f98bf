//! Evaluation context of the configuration's expressions: the values in scope, and the resolution of texts
//! that refer to them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::block_index::{BlockIndex, ModuleExpansion};
use super::data_index::DataSources;
use super::scope::{EvaluationSite, LocalValue, ModuleScope, ResolvedValue};
use crate::config::diagnostics::codes;
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::diagnostics::hints::other_tools;
use crate::config::diagnostics::messages::too_large;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::files::Files;
use crate::config::input::source_dir::SourceError;
use crate::config::keywords;
use crate::config::merge::blocks::MergedDocuments;
use crate::config::merge::overrides::Overrides;
use crate::config::request::{FilesRef, SecretAccess};
use crate::config::stack::declarations::{MovedDeclaration, RemovedDeclaration};
use crate::config::stack::model::{AttributeSetting, DeferredSecret, Recipients, Resource};
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

/// Resolves a node to which no schema applies: a value of `for_each` is resolved where `each.value` is read, and may
/// itself be any expression.
pub(in crate::config) type ResolveNode<'d> =
    for<'e, 'f> fn(&'e Evaluator<'d>, &'e Node, EvaluationSite<'f, 'd>) -> Option<ResolvedValue>;

/// Context in which expressions are resolved: values in scope, file access, budget,
/// and the collector of problems.
pub(in crate::config) struct Evaluator<'d> {
    pub(in crate::config) registry: Registry,
    pub(in crate::config) sources: &'d Sources,
    pub(in crate::config) problems: DiagnosticCollector,
    /// Resolves the values that a `for_each` writes out.
    pub(in crate::config) resolve_written: ResolveNode<'d>,
    /// Budget to which every value is charged before it is built.
    pub(in crate::config) budget: &'d Budget,
    /// Reads files below the stack's directory.
    pub(in crate::config) read: FilesRef<'d>,
    /// Name of the stack.
    pub(in crate::config) stack: Name,
    /// Name of the environment.
    pub(in crate::config) env: Name,
    /// Scope of the unit that is being resolved.
    pub(in crate::config) scope: ModuleScope,
    /// Merged documents of the modules, by unit number.
    pub(in crate::config) modules: &'d [MergedDocuments<'d>],
    /// Directories of the modules, by unit number.
    pub(in crate::config) places: &'d [ConfigPath],
    /// Unit number of each module call, by the span of its `source`.
    pub(in crate::config) calls: &'d BTreeMap<Span, usize>,
    /// Number of module instances so far.
    pub(in crate::config) instances: usize,
    /// Whether the limit of module instances was exceeded and reported.
    pub(in crate::config) exhausted: bool,
    /// Spans of the values that the environment's `set` replaced.
    pub(in crate::config) replaced: BTreeSet<Span>,
    /// Overrides of values in instances and modules.
    pub(in crate::config) overrides: Overrides<'d>,
    /// Address prefixes of the modules that this environment leaves out.
    pub(in crate::config) left_out: Vec<Name>,
    /// Instances of each `use` block, by the block's address prefix.
    pub(in crate::config) used: BTreeMap<Name, ModuleExpansion>,
    /// The moves of the stack and of its modules.
    pub(in crate::config) moved: Vec<MovedDeclaration>,
    /// `removed` entries of the stack and of its modules.
    pub(in crate::config) removed: Vec<RemovedDeclaration>,
    /// Index of the declared blocks.
    pub(in crate::config) index: BlockIndex<'d>,
    /// Data lookups and other stacks.
    pub(in crate::config) externals: DataSources,
    /// Resources that are already resolved.
    pub(in crate::config) made: Vec<Resource>,
    /// Deferred secrets whose values this run has, by the paths of their variables.
    pub(in crate::config) at_hand: BTreeMap<Name, Secret>,
    /// Variable files, whose content must not be shown.
    pub(in crate::config) var_files: Vec<SourceId>,
    /// Whether a placeholder is used as if it were the secret.
    pub(in crate::config) pretend: bool,
    /// Access of this run to secrets.
    pub(in crate::config) secrets: SecretAccess,
    /// Variables that are deferred secrets.
    pub(in crate::config) awaited: RefCell<BTreeMap<Name, DeferredSecret>>,
    /// Where sinks were written, by the addresses of their secrets.
    pub(in crate::config) sink_spans: RefCell<BTreeMap<Name, Span>>,
    /// To whom kept secrets are encrypted.
    pub(in crate::config) recipients: Option<Recipients>,
    /// Whether the stack has a `secrets` block, valid or not.
    pub(in crate::config) keeps_secrets: bool,
    /// Cache of parsed expressions, by source text.
    programs: RefCell<HashMap<String, Result<Rc<CelProgram>, SyntaxError>>>,
    /// Digests of directories: instances of one block often share theirs.
    pub(in crate::config) directories: RefCell<BTreeMap<Name, Result<Name, SourceError>>>,
}

/// Source of live values before anything is read: every value is unknown.
pub(in crate::config) struct NoLiveValues;

impl AttributeLookup for NoLiveValues {
    fn attribute(&self, address: &Address, _attribute: Option<&str>) -> Value {
        Value::Unknown(vec![address.clone()])
    }

    fn object(&self, _address: &Address) -> (Attributes, bool) {
        (Attributes::new(), false)
    }
}

impl<'d> Evaluator<'d> {
    /// Returns a resolver that knows the stack's name and environment only.
    pub(in crate::config) fn new(
        registry: Registry,
        sources: &'d Sources,
        read: FilesRef<'d>,
        problems: DiagnosticCollector,
        (calls, budget): (&'d BTreeMap<Span, usize>, &'d Budget),
        resolve_written: ResolveNode<'d>,
    ) -> Self {
        Self {
            registry,
            sources,
            resolve_written,
            budget,
            problems,
            read,
            stack: Name::default(),
            env: Name::default(),
            scope: ModuleScope::default(),
            modules: &[],
            places: &[],
            calls,
            instances: 0,
            exhausted: false,
            replaced: BTreeSet::new(),
            overrides: Overrides::default(),
            left_out: Vec::new(),
            used: BTreeMap::new(),
            moved: Vec::new(),
            removed: Vec::new(),
            index: BlockIndex::default(),
            externals: DataSources::default(),
            made: Vec::new(),
            at_hand: BTreeMap::new(),
            var_files: Vec::new(),
            pretend: false,
            secrets: SecretAccess::Required,
            awaited: RefCell::default(),
            sink_spans: RefCell::default(),
            recipients: None,
            keeps_secrets: false,
            programs: RefCell::default(),
            directories: RefCell::default(),
        }
    }

    /// Adds a problem in the name of the frame's instance.
    pub(in crate::config) fn report_problem(&self, frame: EvaluationSite<'_, 'd>, diagnostic: Diagnostic) {
        self.problems.push_in(frame.instance, diagnostic);
    }

    /// Reports a value that exceeds the stack's budget, and returns `None` then.
    pub(in crate::config) fn report_exceeded<T>(
        &self,
        charged: Result<T, BudgetExceeded>,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<T> {
        if charged.is_err() {
            self.report_problem(frame, too_large(span));
        }
        charged.ok()
    }

    /// Returns the value of an expression if it is known now; its problems are reported elsewhere.
    pub(in crate::config) fn known_now(&self, expression: &Expression, span: Span) -> Option<Value> {
        match evaluate_within(expression, &NoLiveValues, self.budget) {
            Ok(value) => Some(value),
            Err(EvaluationError::TooLarge) => {
                self.report_exceeded(Err(BudgetExceeded), span, EvaluationSite::top_level(None))
            }
            Err(_) => None,
        }
    }

    /// Returns the address of a block of the stack or module that is being resolved.
    pub(in crate::config) fn scoped_address(&self, kind: &str, name: &str) -> Address {
        Address::new(kind, name).in_module(&self.scope.prefix)
    }

    /// Returns the files of the stack or module that is being resolved.
    pub(in crate::config) fn files(&self) -> &dyn Files {
        self.scope.files.as_deref().unwrap_or(self.read)
    }

    /// Returns whether a name is a valid root after a `$`.
    pub(in crate::config) fn is_root(&self, name: &str) -> bool {
        keywords::find_word(keywords::ROOTS, name).is_some()
            || self.registry.top_level().any(|kind| kind.name == name)
    }

    /// Returns the variables and locals that have a value, by their paths.
    pub(in crate::config) fn values_by_name(
        &self,
        merged: &MergedDocuments<'d>,
    ) -> BTreeMap<Name, AttributeSetting> {
        let setting = |expression: &Expression, span: Span, set_by: Option<&Name>| AttributeSetting {
            expression: expression.clone(),
            span,
            set_by: set_by.cloned(),
            parts: None,
            directory: None,
            exclusive: false,
        };
        let vars = self.scope.vars.iter().filter_map(|(name, value)| {
            let declared = merged.vars.get(name)?.key_span;
            let span = self.scope.var_places.get(name).copied().unwrap_or(declared);
            let set_by = self.scope.var_origins.get(name);
            let value = value.as_ref()?;
            self.report_exceeded(value.charge(self.budget), span, EvaluationSite::top_level(None))?;
            Some((Name::new(format!("vars.{name}")), setting(value, span, set_by)))
        });
        let locals = self.scope.locals.iter().filter_map(|(name, local)| {
            let LocalValue::Ready(value) = &local.value else { return None };
            let span = merged.locals.get(name)?.value.span;
            self.report_exceeded(value.charge(self.budget), span, EvaluationSite::top_level(None))?;
            Some((Name::new(format!("locals.{name}")), setting(value, span, local.origin.as_ref())))
        });
        vars.chain(locals).collect()
    }

    /// Parses an expression, each distinct one once.
    pub(in crate::config) fn parse_program(&self, source: &str) -> Result<Rc<CelProgram>, SyntaxError> {
        if let Some(known) = self.programs.borrow().get(source) {
            return known.clone();
        }
        let program = CelProgram::parse(source).map(Rc::new);
        self.programs.borrow_mut().insert(source.to_owned(), program.clone());
        program
    }

    /// Returns the span of an expression within a scalar, if it is written there without escapes.
    pub(in crate::config) fn span_within(&self, span: Span, words: &str) -> Span {
        self.locate_text(span, words, |text| text.find(words)).unwrap_or(span)
    }

    /// Returns the span of a path's segment within a scalar: a whole word after a dot.
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

    /// Returns the problem of a name that means nothing after a `$`.
    pub(in crate::config) fn unknown_root(&self, root: &str, written: &str, span: Span) -> Diagnostic {
        let known =
            self.registry.top_level().map(|kind| kind.name).chain(keywords::word_names(keywords::ROOTS));
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
            ("vars", self.scope.vars.contains_key(root)),
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
