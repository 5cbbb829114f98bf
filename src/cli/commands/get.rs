//! `stead get ADDRESS`: shows the live attributes of one object beside the last applied ones, without their secrets.

use clap::Args;

use crate::cli::actions::target::{ActionScope, TargetReference};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::ls;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::redaction::redact_applied_and_live;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::model::values::value::redact_attributes;
use crate::plan::join::prices::ObjectPrices;
use crate::report::json;
use crate::report::views::list;

/// Command-line arguments of `stead get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead get vm.web\n  stead get snapshot:0b7c…")]
pub struct GetArgs {
    /// The resource, or KIND:ID for an unmanaged object
    pub address: String,
}

/// Shows the object at an address, or an object by its kind and id.
///
/// # Errors
/// When the address owns no object, the object does not exist, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &CommandContext, args: &GetArgs) -> Result<Exit, CliFailure> {
    let named = TargetReference::parse(&args.address)?;
    if let TargetReference::Kind(kind) = named {
        return Err(CliFailure::new(Exit::Usage, format!("which {}?", kind.name))
            .help(format!("Name a resource, {0}.NAME, or an object by id, {0}:ID.", kind.name)));
    }
    let ground = ActionScope::open(session, matches!(named, TargetReference::Resource(_))).await?;
    let target = ground.resolve_target(&named)?;
    let object = match &target.key {
        Some(key) => ground.client().get(key).await?,
        None => None,
    };
    let Some(object) = object else {
        return Err(match &target.address {
            Some(address) => CliFailure::new(Exit::Failed, format!("the object of {address} is gone"))
                .help("stead plan shows what an apply would do about it."),
            None => CliFailure::new(Exit::Failed, format!("there is no {}", target.display_name()))
                .help("List the unmanaged objects: stead ls --unmanaged"),
        });
    };
    let (lock_file, ledger) = match &ground {
        ActionScope::Stack(stack) => (&stack.connection.lock_file, Some(&stack.ledger)),
        ActionScope::ServiceOnly(link) => (&link.lock_file, None),
    };
    let (applied, live) = redact_applied_and_live(ledger, &object);
    let redact = |text: &str| ground.client().redact(text);
    let (object, live) = (object.to_redacted(&redact), redact_attributes(&live, &redact));
    let catalog = read_pinned_names(lock_file)?.unwrap_or_default();
    let row = ls::object_row(target.address.as_ref(), &object, &ObjectPrices::new(&catalog));
    session.ui.write_result(&if session.ui.json {
        json::object_document(&row, &applied, &live)
    } else {
        let name = target.address.as_ref().map(|address| format!("{address} · ")).unwrap_or_default();
        let head = format!("{name}{} {}\n", object.kind, object.id);
        head + &list::attributes_table(&applied, &live).to_text("", session.ui.style)
    });
    Ok(Exit::Done)
}
