//! The target of an action: a resource of the stack, an object by its id, or a whole kind. The stack and its ledger
//! are read only if an address is named, so an action on a bare id works without a stack.

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::command_client::CommandClient;
use crate::cli::service::connection::{ServiceConnection, StackConnection};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unknown_addresses;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::nearest_name;
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::Kind;

/// Target as the user named it on the command line, parsed but not looked up.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) enum TargetReference {
    /// A resource of the stack, by address; its object is in the ledger.
    Resource(Address),
    /// An object, by kind and id. It need not exist.
    Object(&'static Kind, ObjectKey),
    /// A whole kind, for actions without an object.
    Kind(&'static Kind),
}

/// What an action can use: a stack with its ledger, or only a connection.
pub(in crate::cli) enum ActionScope {
    /// A stack, and its ledger as it was read.
    Stack(Box<StackContext>),
    /// A connection to the service, without a stack.
    ServiceOnly(Box<ServiceConnection>),
}

/// A stack with its ledger and its connection.
pub(in crate::cli) struct StackContext {
    pub(in crate::cli) project: LoadedStack,
    /// Connection to the service.
    pub(in crate::cli) connection: StackConnection,
    /// The ledger, read without its lock: it can be outdated when a request is sent.
    pub(in crate::cli) ledger: Ledger,
}

/// The object, or the kind, that an action applies to.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct ActionTarget {
    /// Address that owns the object; `None` if it was named by id or is a whole kind.
    pub(in crate::cli) address: Option<Address>,
    pub(in crate::cli) kind: &'static Kind,
    /// Key of the object; `None` for a whole kind.
    pub(in crate::cli) key: Option<ObjectKey>,
    /// Project of the object, as recorded in the ledger; `None` if the ledger has none, or the target was named by id.
    pub(in crate::cli) project: Option<Name>,
}

impl TargetReference {
    /// Parses a target: `vm.web`, `vm:ID`, `database_user:PARENT/ID`, `vm`.
    ///
    /// # Errors
    /// When the argument is neither an address nor a kind with an id, or names an unknown kind.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, CliFailure> {
        if let Some((kind, id)) = text.split_once(':') {
            let kind = kind_of(kind)?;
            return Ok(Self::Object(kind, parse_object_key(kind, id)?));
        }
        if !text.contains('.') {
            return kind_of(text).map(Self::Kind);
        }
        let address = Address::parse(text).map_err(|error| {
            CliFailure::new(Exit::Usage, error.to_string()).help("KIND:ID names an object by id.")
        })?;
        // Addresses inside a module begin with the module's name, so the kind can be any segment.
        if !address.segments().any(|part| REGISTRY.kind(part).is_some()) {
            kind_of(address.root())?;
        }
        Ok(Self::Resource(address))
    }
}

fn kind_of(name: &str) -> Result<&'static Kind, CliFailure> {
    REGISTRY.kind(name).ok_or_else(|| {
        let failure = CliFailure::new(Exit::Usage, format!("there is no kind `{name}`"));
        match nearest_name(name, REGISTRY.kinds.iter().map(|kind| kind.name)) {
            Some(near) => failure.help(format!("Did you mean {near}?")),
            None => failure.help("stead do --help lists the kinds and their actions."),
        }
    })
}

/// Parses an object's id; the id of a child is preceded by its parent's id and a slash.
fn parse_object_key(kind: &'static Kind, text: &str) -> Result<ObjectKey, CliFailure> {
    let (parent, id) = match (kind.child_of(), text.split_once('/')) {
        (Some(_), Some((parent, id))) => (Some(Name::new(parent)), id),
        (None, None) => (None, text),
        (Some((parent, _)), None) => {
            let text = format!("a {} is named with its {parent}: {}:PARENT/ID", kind.name, kind.name);
            return Err(CliFailure::new(Exit::Usage, text));
        }
        (None, Some(_)) => {
            return Err(CliFailure::new(Exit::Usage, format!("`{text}` is not an id of a {}", kind.name)));
        }
    };
    if id.is_empty() || parent.as_ref().is_some_and(Name::is_empty) {
        return Err(CliFailure::new(Exit::Usage, format!("the id of the {} is missing", kind.name)));
    }
    Ok(ObjectKey { kind: Name::new_static(kind.name), parent, id: Name::new(id) })
}

impl ActionScope {
    /// Opens the stack if `stack` is set, else only a connection to the service.
    ///
    /// # Errors
    /// When the stack has errors, or the service or the ledger cannot be reached.
    pub(in crate::cli) async fn open(session: &CommandContext, stack: bool) -> Result<Self, CliFailure> {
        if !stack {
            return Ok(Self::ServiceOnly(Box::new(ServiceConnection::open(
                &session.settings,
                &session.settings.dir,
                false,
            )?)));
        }
        let project = session.open()?;
        let connection = session.connect(&project)?;
        let ledger = ledger_io::read_ledger(&project, &connection).await?;
        Ok(Self::Stack(Box::new(StackContext { project, connection, ledger })))
    }

    /// Returns the client for the service.
    pub(in crate::cli) fn client(&self) -> &CommandClient {
        match self {
            Self::Stack(stack) => &stack.connection.client,
            Self::ServiceOnly(link) => &link.client,
        }
    }

    /// Returns the object that an address owns.
    ///
    /// # Errors
    /// When the address is unknown or owns no object, or the scope has no stack.
    pub(in crate::cli) fn owned_target(&self, address: &Address) -> Result<ActionTarget, CliFailure> {
        let Self::Stack(stack) = self else {
            return Err(CliFailure::new(
                Exit::Usage,
                format!("{address} is a resource, and there is no stack"),
            ));
        };
        let entry = stack.ledger.entries.get(address);
        let Some((entry, owned)) = entry.and_then(|entry| Some((entry, entry.current.as_ref()?))) else {
            let declared = &stack.project.stack.resources;
            if entry_or_block(stack, address) {
                let text = format!("{address} owns no object yet");
                return Err(CliFailure::new(Exit::Failed, text)
                    .help("stead plan shows what an apply would create; KIND:ID names an object by id."));
            }
            let known = stack.ledger.entries.keys().chain(declared.keys()).map(Address::as_str);
            return Err(unknown_addresses::unknown_address(address.as_str(), known));
        };
        Ok(ActionTarget {
            address: Some(address.clone()),
            kind: kind_of(&entry.kind)?,
            key: Some(owned.key(&entry.kind)),
            project: owned.project.clone(),
        })
    }

    /// Returns the target for a parsed name. Does not check that an object named by id exists.
    ///
    /// # Errors
    /// When the resource is unknown or owns no object.
    pub(in crate::cli) fn resolve_target(
        &self,
        named: &TargetReference,
    ) -> Result<ActionTarget, CliFailure> {
        match named {
            TargetReference::Resource(address) => self.owned_target(address),
            TargetReference::Object(kind, key) => {
                Ok(ActionTarget { address: None, kind, key: Some(key.clone()), project: None })
            }
            TargetReference::Kind(kind) => {
                Ok(ActionTarget { address: None, kind, key: None, project: None })
            }
        }
    }

    /// Returns the object id for a parameter, whose value is an address, `KIND:ID`, or the id itself.
    ///
    /// # Errors
    /// When it names an object of another kind, or a resource that owns no object.
    pub(in crate::cli) fn id_of(&self, kind: &'static str, text: &str) -> Result<Name, String> {
        if !is_name(text) {
            return Ok(Name::new(text));
        }
        let named = TargetReference::parse(text).map_err(|failure| failure.message)?;
        let target = self.resolve_target(&named).map_err(|failure| failure.message)?;
        match target.key {
            Some(key) if target.kind.name == kind => Ok(key.id),
            _ => Err(format!("`{text}` is not a {kind}")),
        }
    }
}

/// Returns whether an address is in the ledger or in the configuration, even if it owns no object.
fn entry_or_block(stack: &StackContext, address: &Address) -> bool {
    stack.ledger.entries.contains_key(address) || stack.project.stack.resources.contains_key(address)
}

/// Returns whether a parameter's value is an address or `KIND:ID`, not a bare id: ids contain neither `:` nor `.`.
pub(in crate::cli) fn is_name(text: &str) -> bool {
    text.contains([':', '.'])
}

impl ActionTarget {
    /// Returns the target for messages: the address, `KIND:ID`, or the kind alone. Ids are not escaped.
    pub(in crate::cli) fn display_name(&self) -> String {
        match (&self.address, &self.key) {
            (Some(address), _) => address.to_string(),
            (None, Some(ObjectKey { kind, parent: Some(parent), id })) => format!("{kind}:{parent}/{id}"),
            (None, Some(ObjectKey { kind, parent: None, id })) => format!("{kind}:{id}"),
            (None, None) => self.kind.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_parsed_as_a_resource_address_or_an_object_id() {
        let shown = |text: &str| match TargetReference::parse(text) {
            Ok(TargetReference::Resource(address)) => format!("resource {address}"),
            Ok(TargetReference::Object(kind, key)) => {
                format!("object {} {:?} {}", kind.name, key.parent, key.id)
            }
            Ok(TargetReference::Kind(kind)) => format!("kind {}", kind.name),
            Err(failure) => format!("{} {}", failure.message, failure.help.join(" ")),
        };
        let table = [
            ("vm.web.a", "resource vm.web.a"),
            ("vm:5b1e", "object vm None 5b1e"),
            ("database_user:db1/app", "object database_user Some(\"db1\") app"),
            ("database", "kind database"),
            ("databse", "there is no kind `databse` Did you mean database?"),
            ("mv:5b1e", "there is no kind `mv` Did you mean vm?"),
            ("database_user:app", "a database_user is named with its database: database_user:PARENT/ID "),
            ("vm:a/b", "`a/b` is not an id of a vm "),
            ("vm:", "the id of the vm is missing "),
            (
                "vm.Web",
                "`vm.Web` is not an address: each part holds a-z, 0-9, _ and - only, and is not empty KIND:ID names an object by id.",
            ),
        ];
        for (text, wanted) in table {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }
}
