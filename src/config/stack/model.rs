//! `Stack`: the resolved desired state. Every name is bound, every instance expanded, every offline rule
//! checked. A value that depends on live objects is an `Expression`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::declarations::Declarations;
use crate::config::codes;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name, OrderedMap};
use crate::model::cel::policy::PolicyLevel;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{CelExpression, Expression};
use crate::model::schema::{Kind, ReplaceOrder};
use crate::model::source::{Sources, Span};
use crate::model::values::secret::Secret;

/// A whole configuration for one environment.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Name of the stack, as `stack:` declares it.
    pub name: Name,
    /// Environment for which it was resolved.
    pub environment: Environment,
    /// All environments that it declares, sorted; empty if it declares none.
    pub environments: Vec<Name>,
    /// Resources by address, in address order.
    pub resources: OrderedMap<Address, Resource>,
    /// Values to print after an apply.
    pub outputs: BTreeMap<Name, Output>,
    /// The only `project` block, to which project-scoped resources belong; `None` if
    /// there are none or several.
    pub project: Option<Address>,
    /// Whether the local ledger is refused (`backend: required`).
    pub backend_required: bool,
    /// Declarations about past addresses and objects: `moved`, `import`, `removed`.
    pub declarations: Declarations,
    /// Rules that a plan must pass.
    pub policies: Vec<Policy>,
    /// Digest of the resolved configuration, secrets by the names of their variables: 64 hexadecimal digits.
    pub digest: String,
    /// Data lookups: objects that this stack reads but does not manage.
    pub data: BTreeMap<Address, DataLookup>,
    /// Other stacks whose outputs this stack reads.
    pub stacks: BTreeMap<Name, OtherStack>,
    /// Module instances by address prefix, each with the span of its call.
    pub modules: BTreeMap<Name, Span>,
    /// Blocks and instances that `when` or `for_each` leaves out: the reason why an object in the ledger
    /// may have no resource any more.
    pub left_out: BTreeMap<Address, ExclusionReason>,
    /// Deferred secrets, by the paths of their variables.
    pub deferred_secrets: BTreeMap<Name, DeferredSecret>,
    /// Recipients to whom the ledger's kept secrets are encrypted; `None` if the ledger keeps no secrets.
    pub recipients: Option<Recipients>,
    /// Digest of the values read from data lookups and other stacks; empty before they are read,
    /// and if there are none.
    pub reads: String,
    /// Result of the additionally requested expression (`stead eval`); `None` if none was requested.
    pub evaluated: Option<Expression>,
    /// All secret sinks of the stack, of resources and of variables.
    pub sinks: Vec<SinkUse>,
    /// Variables and locals by path, such as `vars.size`, with their values.
    pub named: BTreeMap<Name, AttributeSetting>,
    /// Source files, to resolve spans.
    pub sources: Sources,
}

/// An object that is found by its attributes: `data: { vpc: { shared: { name: shared } } }`.
#[derive(Debug, Clone)]
pub struct DataLookup {
    /// Kind, with its schema and rules.
    pub kind: &'static Kind,
    /// Attributes by which the object is found; their values are known.
    pub fields: BTreeMap<Name, Expression>,
    /// Span of the entry in its file.
    pub span: Span,
}

/// Another stack whose outputs are read: `stacks: { net: ../network }`.
#[derive(Debug, Clone)]
pub struct OtherStack {
    /// Its directory, from the root within which configuration is shared.
    pub directory: Name,
    /// Directory as the file writes it.
    pub shown: Name,
    /// Environment whose outputs are read; `None` for the one of the same name, or the only one.
    pub environment: Option<Name>,
    /// Span of the entry in its file.
    pub span: Span,
    /// Referenced outputs, each with the span of its first use.
    pub reads: BTreeMap<Name, Span>,
}

/// Reason why a block, or an instance of it, is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExclusionReason {
    /// True if `for_each` lists other keys only; false if `when` is false.
    pub keyed: bool,
    /// Span of the `when` or `for_each` keyword.
    pub span: Span,
}

/// Environment that a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name; `default` for a stack without environments.
    pub name: Name,
    /// Form of the approval that an apply needs.
    pub confirm: ConfirmationMode,
}

/// How an apply asks for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationMode {
    /// A yes-or-no question is enough.
    YesOrNo,
    /// The user must type the environment's name.
    TypeName,
}

/// One block, or one instance of a block with `for_each`.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Address of the resource, unique in the stack.
    pub address: Address,
    /// Kind, with its schema and rules.
    pub kind: &'static Kind,
    /// Address of the parent; `None` for a top-level resource.
    pub parent: Option<Address>,
    /// Key of the instance; `None` without `for_each`.
    pub key: Option<Name>,
    /// Written attributes, by the language's names. `name` is always present if the kind has it. Values have
    /// the schema's types; a catalog attribute has the written name or id as a string.
    pub attributes: NameMap<AttributeSetting>,
    /// Limits on changes to the object, such as `protect`.
    pub lifecycle: Lifecycle,
    /// Dependencies that no reference expresses.
    pub depends_on: Vec<Address>,
    /// Project of the resource; `None` if the block does not name one.
    pub project: Option<Expression>,
    /// Sink for the secret that the service shows only once; `None` if the block has none.
    pub deliver_secret: Option<Box<SecretSink>>,
    /// Exposures that its author allows.
    pub allowed_exposures: Vec<AllowedExposure>,
    /// Span of the block's key.
    pub span: Span,
}

/// Value of a written attribute, with its origin.
#[derive(Debug, Clone)]
pub struct AttributeSetting {
    /// The value, or the expression that yields it.
    pub expression: Expression,
    /// Where the value was written.
    pub span: Span,
    /// What decided the value besides this span, such as `vars.size, set by environments.prod`; `None` if
    /// the span alone does.
    pub set_by: Option<Box<Name>>,
    /// The origins of the entries of a written map; `None` if all of it has one origin.
    pub parts: Option<Box<MapEntries>>,
    /// Source directory whose digest the value is, relative to the stack's directory; `None` for any other value.
    pub directory: Option<Box<Name>>,
    /// Whether the value is an exclusive open map: live keys that it does not name are removed.
    pub exclusive: bool,
    /// Whether a part of the value was read: from a live object that a lookup finds, or from an output of another stack.
    pub is_read: bool,
}

/// The entries of a written map, by their dotted paths in it.
pub type MapEntries = BTreeMap<Name, MapEntry>;

/// An entry of a written map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEntry {
    /// Span where the entry's value was written.
    pub span: Span,
    /// What decided the value besides its span.
    pub set_by: Option<Name>,
}

impl AttributeSetting {
    /// Returns the span of a value and what decided it: of the attribute `name`,
    /// or of its entry `name.key`.
    #[must_use]
    pub fn origin(&self, path: &str) -> (Span, Option<&Name>) {
        self.part_origin(path.split_once('.').map_or("", |(_, within)| within))
    }

    /// Returns the span of a part of the value and what decided it, by its dotted path; for a part that is
    /// not written separately, those of the nearest enclosing value.
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
        (self.span, self.set_by.as_deref())
    }

    /// Returns what decided the value or the first of its parts, besides their spans; `None` if their spans alone do.
    #[must_use]
    pub fn decided_by(&self) -> Option<&Name> {
        let mut parts = self.parts.iter().flat_map(|parts| parts.values());
        self.set_by.as_deref().or_else(|| parts.find_map(|part| part.set_by.as_ref()))
    }
}

/// Limits on changes to a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// Whether deletion and replacement are refused.
    pub protect: bool,
    /// Action for the object when its block is removed.
    pub on_remove: OnRemove,
    /// Attributes whose differences between live and desired values are ignored.
    pub ignore_drift: Vec<IgnoreDrift>,
    /// Order of delete and create in a replacement; `None` uses the kind's default.
    pub replace: Option<ReplaceOrder>,
    /// Time limits of operations.
    pub timeouts: Timeouts,
    /// Whether a final snapshot is taken before the object is deleted.
    pub final_snapshot: bool,
    /// Span of the `protect` keyword, for messages; `None` if it is not written.
    pub protect_span: Option<Span>,
}

/// Action for an object when its block is removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRemove {
    /// `on_remove` is not written: the object is deleted unless it contains data.
    #[default]
    Unspecified,
    /// The object is deleted, with the data that it contains.
    Delete,
    /// It stays live; stead forgets it.
    Keep,
}

/// Attribute whose drift is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreDrift {
    /// Name of the attribute.
    pub attribute: Name,
    /// Reason that the author gives; `None` if the entry has none.
    pub reason: Option<String>,
    /// Last day on which the entry is valid (UTC), written as `YYYY-MM-DD`; `None` if it has no end.
    pub until: Option<jiff::civil::Date>,
    /// Span of the entry in its file.
    pub span: Span,
}

/// Exposure that the author of a block allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedExposure {
    /// Code of the exposure.
    pub code: Name,
    /// Reason that the author gives.
    pub reason: String,
    /// Last day on which the entry is valid (UTC), written as `YYYY-MM-DD`; `None` if it has no end.
    pub until: Option<jiff::civil::Date>,
    /// Span of the entry in its file.
    pub span: Span,
}

/// Time limits of operations on a resource; `None` uses one that is computed from the kind's usual duration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Time until a new object must be ready.
    pub create: Option<Duration>,
    /// Time until a change must be complete.
    pub update: Option<Duration>,
    /// Time until a deleted object must be gone.
    pub delete: Option<Duration>,
}

/// Variable with a deferred secret.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredSecret {
    /// Program or generator that yields the secret.
    pub origin: SecretOrigin,
    /// The secret, or its placeholder.
    pub value: Secret,
    /// Span of the `generate` or `source` keyword.
    pub span: Span,
}

/// Recipients to whom kept secrets are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipients {
    /// Native age recipients: `age1…`.
    pub names: BTreeSet<Name>,
    /// Span where the recipients were written.
    pub span: Span,
}

/// Origin of a deferred secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOrigin {
    /// The first apply generates it.
    Generated {
        /// Number of characters of the secret.
        length: usize,
        /// Sink to which it is also delivered; `None` if it is only used in this stack.
        deliver: Option<SecretSink>,
    },
    /// A program of the user's settings prints it.
    Source(Name),
}

/// Sink of a secret that is shown only once. Paths are relative to the stack's
/// directory and confined to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSink {
    /// A file with only the secret, mode 0600.
    File(String),
    /// A `NAME=value` line of an env file, 0600.
    EnvFile {
        /// Path of the env file, relative to the stack's directory.
        path: String,
        /// Name of the variable in the file.
        variable: Name,
    },
    /// A program of the user's settings receives it.
    Program(Name),
}

/// A secret and the sink that it is delivered to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkUse {
    /// The resource, or the variable: `vars.token`.
    pub address: Name,
    /// Target of the delivery: a file or a program.
    pub sink: SecretSink,
    /// Span of the sink in its file.
    pub span: Span,
}

/// Value to print after an apply.
#[derive(Debug, Clone)]
pub struct Output {
    /// The value, or the expression that yields it.
    pub expression: Expression,
    /// Span of the entry in its file.
    pub span: Span,
}

/// A rule that a plan must pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Name of the policy, by which results refer to it.
    pub name: Name,
    /// Kinds whose resources are evaluated one by one; empty if the policy is about the plan as a whole.
    pub on: Vec<&'static Kind>,
    /// Condition that must not be true. Every name in it except `self` and `plan` is already bound.
    pub deny: CelExpression,
    /// Message to show when the condition is true.
    pub message: String,
    /// What a denial does.
    pub level: PolicyLevel,
    /// Whether the user's settings declare it, for every stack.
    pub is_of_settings: bool,
    /// Span of the policy's key.
    pub span: Span,
}

impl Policy {
    /// Returns the diagnostic of a policy that denies a resource, or the plan as a whole: a warning if it is advisory. `apply`
    /// is the command that applies the stack.
    #[must_use]
    pub fn denial_problem(&self, resource: Option<&Resource>, apply: &str) -> Diagnostic {
        let problem = match self.level {
            PolicyLevel::Advisory => Diagnostic::warning(codes::DENIED, "a policy warns of this"),
            PolicyLevel::Overridable | PolicyLevel::Mandatory => {
                Diagnostic::error(codes::DENIED, "a policy denies this")
            }
        };
        let problem = match resource {
            Some(resource) => problem.with_label(resource.span, format!("{} is denied", resource.address)),
            None => problem,
        };
        problem
            .with_label(self.span, "by this policy")
            .detail(format!("{}: {}", self.name, self.message))
            .help(match self.level {
                PolicyLevel::Advisory => "change what it warns of; nothing is blocked by it".to_owned(),
                PolicyLevel::Overridable => format!(
                    "change what it denies, or: {apply} --override {} --reason \"...\" (recorded)",
                    self.name
                ),
                PolicyLevel::Mandatory => {
                    "change what it denies: it is mandatory, so nothing overrides it".to_owned()
                }
            })
    }
}
