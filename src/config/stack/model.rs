//! `Stack`: what the configuration wants, resolved: every name bound, every instance expanded,
//! every offline rule checked. What still waits for live objects is an `Expression`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use super::declarations::Declarations;
use crate::config::diagnostics::codes;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{CelExpression, Expression};
use crate::model::schema::{Kind, ReplaceOrder};
use crate::model::secret::Secret;
use crate::model::source::{Sources, Span};

/// A whole configuration for one environment.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The stack's name.
    pub name: Name,
    /// The environment that it was resolved for.
    pub environment: Environment,
    /// All environments that it declares.
    pub environments: Vec<Name>,
    /// Resources by address, in address order.
    pub resources: IndexMap<Address, Resource>,
    /// What to print when all is done.
    pub outputs: BTreeMap<Name, Output>,
    /// The one `project` block that project-scoped resources belong to, when there is exactly one.
    pub project: Option<Address>,
    /// The local ledger is refused.
    pub backend_required: bool,
    /// What becomes of addresses and objects besides: `moved`, `import`, `removed`.
    pub declarations: Declarations,
    /// Rules that a plan must pass.
    pub policies: Vec<Policy>,
    /// Digest of the resolved configuration, secrets by presence only: 16 hexadecimal digits.
    pub digest: String,
    /// Objects that are looked up, and that this stack does not manage.
    pub data: BTreeMap<Address, DataLookup>,
    /// Other stacks whose outputs are read.
    pub stacks: BTreeMap<Name, OtherStack>,
    /// The instances of modules, by what stands in front of their addresses, and where each is used.
    pub modules: BTreeMap<Name, Span>,
    /// Blocks that stand for fewer resources than they might, and instances that are left out: what is not
    /// there any more may have gone because of it.
    pub left_out: BTreeMap<Address, ExclusionReason>,
    /// Variables whose secrets stand in no file, by their paths.
    pub awaited: BTreeMap<Name, DeferredSecret>,
    /// To whom the ledger's kept secrets are encrypted.
    pub recipients: Option<Recipients>,
    /// Digest of what was looked up elsewhere; empty before that, and where nothing is.
    pub reads: String,
    /// The expression that was asked for besides, resolved.
    pub evaluated: Option<Expression>,
    /// Where secrets are delivered.
    pub sinks: Vec<SinkUse>,
    /// The variables and locals, by their paths: `vars.size`.
    pub named: BTreeMap<Name, AttributeSetting>,
    /// The files.
    pub sources: Sources,
}

/// An object that is found by its attributes: `data: { vpc: { shared: { name: shared } } }`.
#[derive(Debug, Clone)]
pub struct DataLookup {
    /// Its kind.
    pub kind: &'static Kind,
    /// What it is found by: known values.
    pub fields: BTreeMap<Name, Expression>,
    /// Where it was written.
    pub span: Span,
}

/// Another stack whose outputs are read: `stacks: { net: ../network }`.
#[derive(Debug, Clone)]
pub struct OtherStack {
    /// Its directory, from the root within which configuration is shared.
    pub directory: Name,
    /// Its directory as it was written.
    pub shown: Name,
    /// The environment whose outputs are read; `None` for the one of the same name, or the only one.
    pub environment: Option<Name>,
    /// Where it was written.
    pub span: Span,
    /// The outputs that are read, and where first.
    pub reads: BTreeMap<Name, Span>,
}

/// What decides that a block, or an instance of one, is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExclusionReason {
    /// It has keys, and none but these; else its `when` is false.
    pub keyed: bool,
    /// Where the word stands.
    pub span: Span,
}

/// The environment of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name; `default` for a stack without environments.
    pub name: Name,
    /// How an apply asks.
    pub confirm: ConfirmationMode,
}

/// How an apply asks for consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationMode {
    /// Yes or no.
    YesOrNo,
    /// The environment's name must be typed.
    TypeName,
}

/// One block, or one instance of a block with `for_each`.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its path.
    pub address: Address,
    /// Its kind.
    pub kind: &'static Kind,
    /// The parent's address, for a child.
    pub parent: Option<Address>,
    /// The instance's key, with `for_each`.
    pub key: Option<Name>,
    /// What was written, by the language's attribute names. `name` is always there where the kind
    /// has it. Values have the schema's types; catalog attributes hold the written name or id as text.
    pub attributes: BTreeMap<Name, AttributeSetting>,
    /// What may happen to it.
    pub lifecycle: Lifecycle,
    /// What no reference shows.
    pub depends_on: Vec<Address>,
    /// The project, where the block says one.
    pub project: Option<Expression>,
    /// Where a secret that is shown once goes.
    pub deliver_secret: Option<SecretSink>,
    /// The block's key.
    pub span: Span,
}

/// A written attribute.
#[derive(Debug, Clone)]
pub struct AttributeSetting {
    /// Its value, or how to get it.
    pub expression: Expression,
    /// Where the value was written.
    pub span: Span,
    /// What decided the value besides this place: `vars.size, set by environments.prod`.
    pub set_by: Option<Name>,
    /// The same of every entry of a written map.
    pub parts: Option<Box<MapEntries>>,
    /// The directory whose digest the value is, by its path from the stack's own.
    pub directory: Option<Name>,
    /// It is an open map, and what else stands in the live one goes.
    pub exclusive: bool,
}

/// The entries of a written map, by their dotted paths in it.
pub type MapEntries = BTreeMap<Name, MapEntry>;

/// An entry of a written map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEntry {
    /// Where its value was written.
    pub span: Span,
    /// What decided it besides that place.
    pub set_by: Option<Name>,
}

impl AttributeSetting {
    /// Returns where a value was written and what decided it: of the attribute `name`, or of `name.key`.
    #[must_use]
    pub fn origin(&self, path: &str) -> (Span, Option<&Name>) {
        self.part_origin(path.split_once('.').map_or("", |(_, within)| within))
    }

    /// Returns where a part of the value was written and what decided it, by its dotted path in it; for one
    /// that is not written by itself, what holds for the whole.
    #[must_use]
    pub fn part_origin(&self, path: &str) -> (Span, Option<&Name>) {
        let mut way = path;
        while let Some(parts) = &self.parts {
            if let Some(part) = parts.get(way) {
                return (part.span, part.set_by.as_ref());
            }
            let Some((outer, _)) = way.rsplit_once('.') else { break };
            way = outer;
        }
        (self.span, self.set_by.as_ref())
    }

    /// Returns what decided the value, or the first of its parts, besides where they were written.
    #[must_use]
    pub fn decided_by(&self) -> Option<&Name> {
        let mut parts = self.parts.iter().flat_map(|parts| parts.values());
        self.set_by.as_ref().or_else(|| parts.find_map(|part| part.set_by.as_ref()))
    }
}

/// What may happen to a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// No delete, no replacement.
    pub protect: bool,
    /// What becomes of the object when the block goes.
    pub on_remove: OnRemove,
    /// Live differences that are nobody's business.
    pub ignore_drift: Vec<IgnoreDrift>,
    /// Which comes first in a replacement; `None` leaves it to the kind.
    pub replace: Option<ReplaceOrder>,
    /// How long an operation may take; `None` leaves it to the kind.
    pub timeouts: Timeouts,
    /// Its data is copied before it goes.
    pub final_snapshot: bool,
    /// Place of the `protect` word, for messages.
    pub protect_span: Option<Span>,
}

/// What becomes of the object when its block goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRemove {
    /// Nothing is written: it is deleted, unless it holds data.
    #[default]
    Unspecified,
    /// It is deleted, with the data that it holds.
    Delete,
    /// It stays live; stead forgets it.
    Keep,
}

/// A live difference that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreDrift {
    /// The attribute.
    pub attribute: Name,
    /// Why, in the writer's words.
    pub reason: Option<String>,
    /// The last day it holds, `YYYY-MM-DD`.
    pub until: Option<jiff::civil::Date>,
    /// Where it was written.
    pub span: Span,
}

/// How long operations may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Until usable.
    pub create: Option<Duration>,
    /// Until changed.
    pub update: Option<Duration>,
    /// Until gone.
    pub delete: Option<Duration>,
}

/// A variable whose secret stands in no file.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredSecret {
    /// Where it comes from.
    pub origin: SecretOrigin,
    /// The secret, or what stands in for it.
    pub value: Secret,
    /// Where that was written.
    pub span: Span,
}

/// To whom kept secrets are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipients {
    /// Native age recipients: `age1…`.
    pub names: BTreeSet<Name>,
    /// Where they were written.
    pub span: Span,
}

/// Where a secret comes from that stands in no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOrigin {
    /// The first apply generates it.
    Generated {
        /// Its number of characters.
        length: usize,
        /// Where it goes besides.
        deliver: Option<SecretSink>,
    },
    /// A program of the user's settings prints it.
    Source(Name),
}

/// Where a secret that is shown once goes. Paths are relative to the stack's directory and confined
/// to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSink {
    /// A file of its own, 0600.
    File(String),
    /// A `NAME=value` line of an env file, 0600.
    EnvFile {
        /// The file.
        path: String,
        /// The variable.
        variable: Name,
    },
    /// A program of the user's settings takes it.
    Program(Name),
}

/// A secret and the sink that it is delivered to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkUse {
    /// The resource, or the variable: `vars.token`.
    pub address: Name,
    /// The sink.
    pub sink: SecretSink,
    /// Where the sink was written.
    pub span: Span,
}

/// A value to print when all is done.
#[derive(Debug, Clone)]
pub struct Output {
    /// Its value, or how to get it.
    pub expression: Expression,
    /// Where it was written.
    pub span: Span,
}

/// A rule that a plan must pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: Name,
    /// The kinds whose resources it is about, each for itself; none: it is about the plan as a whole.
    pub on: Vec<&'static Kind>,
    /// What must not be true. Its bindings are all that it names but `self` and `plan`.
    pub deny: CelExpression,
    /// What to tell when it is.
    pub message: String,
    /// The policy's key.
    pub span: Span,
}

impl Policy {
    /// Returns the problem of what the policy says no to: a resource, or the plan as a whole.
    #[must_use]
    pub fn denial_problem(&self, resource: Option<&Resource>) -> Diagnostic {
        let problem = Diagnostic::error(codes::DENIED, "a policy says no");
        let problem = match resource {
            Some(resource) => problem.with_label(resource.span, format!("{} is denied", resource.address)),
            None => problem,
        };
        problem
            .with_label(self.span, "by this policy")
            .detail(format!("{}: {}", self.name, self.message))
            .help(format!(
                "change what it is about, or: stead apply --override {} --reason \"...\" (recorded)",
                self.name
            ))
    }
}
