//! `stead convert`: a stack's file in the other syntax, or another tool's file as a stack's.

use std::path::Path;

use crate::cli::args::{Convert, Format, Origin};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::files;
use crate::cli::rewriting;
use crate::cli::scaffold;
use crate::cli::session::Session;
use crate::config::document::Syntax;
use crate::config::edit::File;
use crate::config::foreign;
use crate::config::layout;
use crate::config::syntax::syntax_of;
use crate::kinds::REGISTRY;
use crate::model::source::Source;

/// Converts a file.
///
/// # Errors
/// When it cannot be read or converted, or the result is there already.
pub(in crate::cli) fn run(session: &Session, args: &Convert) -> Result<Exit, Failure> {
    let source = if args.file == Path::new("-") {
        rewriting::read_standard_input("stdin.yaml")?
    } else {
        rewriting::read(&args.file)?
    };
    let text = match args.from {
        Some(origin) => foreign(session, args, &source, origin)?,
        None => own(session, args, &source)?,
    };
    let Some(out) = &args.out else {
        session.ui.out(&text);
        return Ok(Exit::Done);
    };
    if files::exists(out) && !args.force {
        return Err(Failure::new(
            Exit::Failed,
            format!("{} is there already; nothing was written", files::shown(out)),
        )
        .help("Choose another file, or overwrite with --force."));
    }
    files::write_public(out, text.as_bytes())?;
    session.ui.out(&format!("wrote {}\n", files::shown(out)));
    Ok(Exit::Done)
}

const fn syntax(format: Format) -> Syntax {
    match format {
        Format::Yaml => Syntax::Yaml,
        Format::Kdl => Syntax::Kdl,
    }
}

/// Converts a stack's own file.
fn own(session: &Session, args: &Convert, source: &Source) -> Result<String, Failure> {
    let Some(from) = syntax_of(&source.path) else {
        return Err(Failure::new(
            Exit::Usage,
            format!("{} ends in neither .yaml, .yml nor .kdl", source.path),
        )
        .help("Say what it is: --from compose, render or app-spec."));
    };
    let to = args.to.map_or(if from == Syntax::Yaml { Syntax::Kdl } else { Syntax::Yaml }, syntax);
    let file = File { source, registry: &REGISTRY };
    let (text, repeated) =
        layout::convert(&file, to).map_err(|refusal| rewriting::refused(source, refusal))?;
    if repeated > 0 {
        session
            .ui
            .say(&format!("note: KDL has no anchors: {repeated} aliases and merges were written out"));
    }
    Ok(text)
}

/// Converts another tool's file.
fn foreign(session: &Session, args: &Convert, source: &Source, origin: Origin) -> Result<String, Failure> {
    let origin = match origin {
        Origin::Compose => foreign::Origin::Compose,
        Origin::Render => foreign::Origin::Render,
        Origin::AppSpec => foreign::Origin::AppSpec,
    };
    let stack = scaffold::stack_name(&files::directory_name(args.file.parent().unwrap_or(Path::new("."))));
    let to = syntax(args.to.unwrap_or_default());
    let converted = foreign::convert(source, origin, &stack, to, &REGISTRY)
        .map_err(|problem| rewriting::rejected(source, vec![*problem]))?;
    for note in &converted.left_out {
        session.ui.say(&format!("note: {note}"));
    }
    Ok(converted.text)
}
