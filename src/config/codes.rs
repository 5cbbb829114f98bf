//! The codes of configuration problems, `S0201` to `S0399`, each with its meaning. The macro declares a constant for
//! each code and the list that `stead explain` reads, so that neither lacks one. A code never changes its meaning.

/// A code and its meaning in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiagnosticCode {
    /// Code as diagnostics show it: `S0201`.
    pub code: &'static str,
    /// One line about which mistake the code reports.
    pub meaning: &'static str,
}

/// Declares codes, each as a constant with its visibility, and the list of them all.
macro_rules! declare_codes {
    ($list:literal; $($visibility:vis $name:ident = $code:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] $visibility const $name: &str = $code;)*
        #[doc = $list]
        pub const CODES: &[DiagnosticCode] = &[$(DiagnosticCode { code: $code, meaning: $meaning }),*];
    };
}
pub(in crate::config) use declare_codes;

declare_codes! {
    "Every code of a configuration problem, sorted.";
    pub(crate) UNKNOWN_RESOURCE = "S0201", "A reference names a resource that no block declares.";
    pub(crate) UNKNOWN_REFERENCED_ATTRIBUTE = "S0202", "A reference names an attribute that the kind does not have.";
    pub(crate) WRONG_KIND = "S0203", "A reference leads to a resource of another kind than the attribute takes.";
    pub(crate) WHICH_INSTANCE = "S0204", "A reference to a block with `for_each` names no instance, or one that does not exist.";
    pub(crate) ABSENT_RESOURCE = "S0205", "A reference names a resource that this environment does not have.";
    pub(crate) DEPENDENCY_CYCLE = "S0206", "Resources depend on each other in a cycle.";
    pub(crate) LOCAL_CYCLE = "S0207", "Locals depend on each other in a cycle.";
    pub(crate) NOT_KNOWN_YET = "S0208", "A value that must be known while the configuration is loaded refers to a live object.";
    pub(crate) UNKNOWN_VARIABLE = "S0209", "An expression names a variable that is not declared.";
    pub(crate) UNKNOWN_LOCAL = "S0210", "An expression names a local that is not declared.";
    pub(crate) UNKNOWN_ROOT = "S0211", "A `$` is written before a name that means nothing here.";
    pub(crate) NO_EACH = "S0212", "`each` is used outside of `for_each`.";
    pub(crate) AMBIGUOUS_DOLLAR = "S0213", "A `$name` is inside a text, where only `${…}` is evaluated.";
    pub(crate) SYNTAX = "S0214", "An expression cannot be parsed.";
    pub(crate) FAILED = "S0215", "An expression has no value.";
    pub(crate) TOO_LONG = "S0216", "An expression needs too many steps.";
    pub(crate) SECRET_DECIDES = "S0217", "A secret would determine which resources exist.";
    pub(crate) TOO_LARGE = "S0218", "The values of a stack take more memory than stead allows.";
    pub(crate) SENSITIVE = "S0219", "An expression over a secret fails.";
    pub(crate) UNKNOWN_KEY = "S0220", "A block has a key that its kind does not know.";
    pub(crate) MISSING_ATTRIBUTE = "S0221", "A block lacks an attribute that its kind demands.";
    pub(crate) WRONG_TYPE = "S0222", "A value has another type than its attribute takes.";
    pub(crate) OUT_OF_BOUNDS = "S0223", "A value is too small, too large, too short or too long.";
    pub(crate) WRONG_FORM = "S0224", "A text does not have the form that its attribute takes.";
    pub(crate) UNKNOWN_WORD = "S0225", "A value is not one of the keywords that the attribute takes.";
    pub(crate) NO_NULL = "S0226", "`null` is used where there is no default.";
    pub(crate) COMPUTED = "S0227", "A block sets an attribute that only the service sets.";
    pub(crate) TOO_MANY = "S0228", "A set or list has more entries than the service takes.";
    pub(crate) UNKNOWN_BLOCK = "S0230", "A file has a top-level block that the language does not know.";
    pub(crate) DECLARED_TWICE = "S0232", "The same name is declared in two places.";
    pub(crate) LANGUAGE_VERSION = "S0233", "`stead: 1` is missing, or names another version.";
    pub(crate) STACK_NAME = "S0234", "`stack: NAME` is missing, written twice, or not a valid name.";
    pub(crate) ILLEGAL_NAME = "S0235", "A name has characters that an address cannot hold.";
    pub(crate) NOT_A_BLOCK = "S0236", "A map was expected.";
    pub(crate) BACKEND_WORD = "S0237", "`backend` has another value than `required`.";
    pub(crate) UNKNOWN_ENVIRONMENT = "S0240", "The chosen environment is not declared.";
    pub(crate) WHICH_ENVIRONMENT = "S0241", "Several environments are declared and none is chosen.";
    pub(crate) ENVIRONMENT_KEYS = "S0242", "An environment's block is wrong.";
    pub(crate) VARIABLE_DECLARATION = "S0250", "A variable's declaration is wrong.";
    pub(crate) MISSING_VARIABLE = "S0251", "A variable has no value.";
    pub(crate) UNDECLARED_VARIABLE = "S0252", "A value is given for a variable that is not declared.";
    pub(crate) VARIABLE_TYPE = "S0253", "A variable's value has the wrong type.";
    pub(crate) VARIABLE_CHECK = "S0254", "A variable's value fails its check.";
    pub(crate) SECRET_IN_FILE = "S0255", "A secret is written in a file of the stack, or given on the command line.";
    pub(crate) FOR_EACH = "S0260", "`for_each` is not a set, list of texts, map or resource.";
    pub(crate) INSTANCE_KEY = "S0261", "An instance's key is invalid or occurs twice.";
    pub(crate) WHEN = "S0262", "`when` is not true or false.";
    pub(crate) LIFECYCLE = "S0270", "A `lifecycle` block is wrong.";
    pub(crate) DURATION = "S0271", "A duration is not of the form `90s`, `30m`, `1h`.";
    pub(crate) DELIVER_SECRET = "S0272", "`deliver_secret` is wrong or missing, there is no secret to deliver, or two secrets have one target.";
    pub(crate) CONFINED_PATH = "S0273", "A path leaves the stack's directory, names a file that controls other programs, or its file cannot be read.";
    pub(crate) DEPENDS_ON = "S0274", "`depends_on` names something that is not a resource of this stack.";
    pub(crate) PROJECT = "S0275", "A resource's project is missing, or it has none.";
    pub(crate) SOURCE_DIR = "S0276", "A directory of sources cannot be uploaded as it is.";
    pub(crate) ALLOW_EXPOSURE = "S0277", "An entry of `allow_exposure` is wrong.";
    pub(crate) LOCK = "S0280", "`stead.lock` cannot be read.";
    pub(crate) FILE_TYPE = "S0281", "A file is neither YAML nor KDL.";
    pub(crate) DECLARATION = "S0290", "A `moved`, `import` or `removed` entry is wrong.";
    pub(crate) STILL_DECLARED = "S0291", "A `moved` or `removed` entry names an address that still has its block.";
    pub(crate) NOT_DECLARED = "S0292", "A `moved` or `import` entry leads to an address that no block declares.";
    pub(crate) MOVED_IN_CIRCLE = "S0293", "`moved` entries form a cycle.";
    pub(crate) SAID_TWICE = "S0294", "Two entries declare what happens to one address or object.";
    pub(crate) POLICY = "S0295", "A policy is wrong.";
    pub(crate) TEST = "S0296", "A test of a stack is wrong.";
    pub(crate) DENIED = "S0297", "A policy denies what the configuration declares.";
    pub(crate) UNUSED = "S0298", "A declaration is not used, or a block has no entries.";
    pub(crate) INCLUDE = "S0310", "An `include` names no stack file, a file that is missing, or one that is read already.";
    pub(crate) INCLUDE_CYCLE = "S0311", "Files include each other in a cycle.";
    pub(crate) OUTSIDE = "S0312", "A path is outside of the root directory for shared configuration.";
    pub(crate) MODULE = "S0313", "A `use` is wrong, or its directory is not a module.";
    pub(crate) MODULE_CYCLE = "S0314", "Modules use each other in a cycle.";
    pub(crate) MODULE_BLOCK = "S0315", "A module has a block that only a stack has.";
    pub(crate) MODULE_LIMIT = "S0316", "Modules nest too deep, or there are too many of them.";
    pub(crate) UNKNOWN_OUTPUT = "S0317", "A reference names an output or a module that is not declared.";
    pub(crate) SET = "S0318", "An environment's `set` names a path that does not exist, or that it cannot replace.";
    pub(crate) DATA = "S0319", "A `data` lookup is wrong.";
    pub(crate) STACKS = "S0320", "A `stacks` entry is wrong.";
    pub(crate) LOOKED_UP = "S0321", "A looked-up object or output does not exist, or cannot be read.";
    pub(crate) RECIPIENTS = "S0322", "The `secrets` block names no recipients, one that is refused, or a single one.";
    pub(crate) STACK_NAME_TWICE = "S0323", "Two directories of a repository declare the same stack.";
    pub(crate) STACK_CYCLE = "S0324", "Stacks read each other's outputs in a cycle.";
    pub(crate) REMOTE_OUTPUT = "S0325", "An output of another stack is not declared, is a secret that its ledger does not keep, or has the wrong type.";
    pub(crate) REMOTE_STACK = "S0326", "A `stacks` entry names a directory without a stack, or an environment that the stack does not have.";
    pub(crate) DIGEST = "S0369", "The digest of the configuration, or of values that it reads elsewhere, cannot be computed: please report this.";
    pub(crate) FOREIGN = "S0370", "Another tool's file does not have the expected format.";
    pub(crate) EDIT_MISSING = "S0371", "An edit names a path that does not exist.";
    pub(crate) EDIT_TAKEN = "S0372", "An edit would write a name that exists already.";
    pub(crate) EDIT_COMPUTED = "S0373", "An edit would replace a value that is computed.";
    pub(crate) EDIT_SHARED = "S0374", "An edit would change a value that an alias or a merge repeats.";
    pub(crate) EDIT_UNSURE = "S0375", "An edit would not result in exactly the requested change.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_sorted_unique_and_explained() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
        for code in CODES {
            assert!(("S0201"..="S0399").contains(&code.code), "{}", code.code);
            assert!(code.meaning.ends_with('.') && !code.meaning.contains('\n'), "{}", code.code);
        }
    }
}
