//! `stead docs`: the documentation of this version, in the terminal, on this machine's own web server, or as a web site in
//! a directory. In: the written pages and the tables of the program. Out: a page, search results, or files. No request is
//! sent and no stack is read.

mod command_pages;
mod document_pages;
mod limit_rows;
mod server;
mod site_directory;
mod table_pages;

use std::path::PathBuf;

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::rows::SETTINGS;
use crate::editor::explain;
use crate::guide::document::{self, PageContent, plain_text};
use crate::guide::explained::{explain_address, explain_document};
use crate::guide::library::{Library, Page, Section};
use crate::guide::page_list::{PageEntry, docs_document};
use crate::guide::search::SearchIndex;
use crate::guide::{reference, site, terminal};
use crate::kinds::REGISTRY;
use crate::model::diagnostic::nearest_name;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// Port of `stead docs --serve`, which `explain --web` names, too.
pub(in crate::cli) const DEFAULT_PORT: u16 = 8378;
/// Most results of a search that are printed.
const MAX_RESULTS: usize = 10;

/// Command-line arguments of `stead docs`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead docs\n  stead docs test-a-stack\n  stead docs reference/exit-codes\n  stead docs rename without replacement\n  stead docs --serve\n  stead docs --out site\n\nWithout a topic, it lists the pages. What is not the name of a page is searched."
)]
pub struct DocsArgs {
    /// Name or address of a page, or words to search for
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
    /// Serve the documentation with a search on this machine, until Ctrl-C
    #[arg(long, conflicts_with_all = ["topic", "out"])]
    pub serve: bool,
    /// Port of --serve; 0 selects a free one
    #[arg(long, value_name = "PORT", requires = "serve", default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// Write the documentation as a web site into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "topic")]
    pub out: Option<PathBuf>,
}

/// Prints, serves or writes the documentation.
///
/// # Errors
/// When nothing is found, or the site cannot be written or served.
pub(in crate::cli) async fn run(
    session: &CommandContext,
    args: &DocsArgs,
    program: clap::Command,
) -> Result<Exit, CliFailure> {
    let library = build_library(&program);
    if args.serve {
        return server::serve(session, &library, args.port).await;
    }
    if let Some(directory) = &args.out {
        let files = site::site_files(&library);
        site_directory::write_site(directory, &files)?;
        let shown = stack_files::display_path(directory);
        session.ui.report_done(&format!("Wrote the documentation, {} files, to {shown}.", files.len()));
        session.ui.next(&format!("open {shown}/index.html in a browser"));
        return Ok(Exit::Done);
    }
    match args.topic.join(" ").trim() {
        "" => list_pages(session, &library),
        topic => print_topic(session, &library, topic, &program)?,
    }
    Ok(Exit::Done)
}

/// Returns all pages of the documentation.
pub(in crate::cli) fn build_library(program: &clap::Command) -> Library {
    let mut program = program.clone().disable_help_subcommand(true);
    program.build();
    let mut derived = reference::registry_pages(&REGISTRY);
    derived.extend(command_pages::command_pages(&program));
    derived.extend(document_pages::document_pages());
    derived.extend(table_pages::table_pages());
    Library::new(derived)
}

fn list_pages(session: &CommandContext, library: &Library) {
    let ui = &session.ui;
    if ui.json {
        let pages = library.pages().iter().map(|page| PageEntry::new(page, None)).collect();
        ui.write_result(&docs_document(None, pages));
        return;
    }
    let sections = Section::ALL.into_iter().filter(|section| *section != Section::Home);
    ui.write_result(&render_sections(library, sections, ui.style));
    ui.next("stead docs first-stack, or stead docs --serve to read it in a browser");
}

/// Returns the lists of sections: the name of each page for `stead docs`, and its title.
fn render_sections(library: &Library, sections: impl Iterator<Item = Section>, style: TextStyle) -> String {
    let mut text = TextPage::new(style);
    for section in sections {
        text.add_line(TextLine::indent(0).push_styled(TextRole::Strong, section.title()));
        add_rows(&mut text, &library.listed_pages(section).collect::<Vec<_>>());
    }
    text.finish()
}

/// Adds a row for each page: its name for `stead docs`, and its title.
fn add_rows(text: &mut TextPage, pages: &[&Page]) {
    let names: Vec<&str> = pages.iter().map(|page| topic_name(page)).collect();
    let column = 4 + names.iter().map(|name| name.len()).max().unwrap_or(0);
    for (page, name) in pages.iter().zip(&names) {
        text.add_line(
            TextLine::indent(2)
                .push_styled(TextRole::Change, name)
                .to_column(column)
                .continue_at(column)
                .push_text(&page.content.title),
        );
    }
}

/// Returns a name by which `stead docs` finds a page: an index is named by its folder, a guide without its folder.
fn topic_name(page: &Page) -> &str {
    match page.section() {
        Section::Reference => page.address.strip_suffix("/index").unwrap_or(&page.address),
        _ => page.name(),
    }
}

/// Prints what a topic names: a page, a section of one (`page#anchor`), the pages of a folder, a subcommand, or a subject
/// of `stead explain`; else searches for its words.
///
/// # Errors
/// When no page has any of the words.
fn print_topic(
    session: &CommandContext,
    library: &Library,
    topic: &str,
    program: &clap::Command,
) -> Result<(), CliFailure> {
    let ui = &session.ui;
    let topic = topic.strip_prefix("stead ").unwrap_or(topic).trim();
    let (address, anchor) =
        topic.split_once('#').map_or((topic, None), |(page, anchor)| (page, Some(anchor)));
    let is_variable = SETTINGS.iter().any(|row| row.variable == Some(topic));
    let named = library.find_topic(if is_variable { "reference/settings" } else { address });
    if ui.json && anchor.is_none() && !named.is_empty() {
        print_documents(session, &named.iter().map(|page| (*page, &page.content)).collect::<Vec<_>>());
        return Ok(());
    }
    if let Some((page, others)) = named.split_first() {
        let section = anchor.and_then(|anchor| document::section_at(&page.content, anchor));
        print_documents(session, &[(page, section.as_ref().unwrap_or(&page.content))]);
        if !others.is_empty() && anchor.is_none() {
            let others: Vec<&str> = others.iter().map(|page| page.address.as_str()).collect();
            ui.hint(&format!("other pages of this name: {}", others.join(", ")));
        }
        return Ok(());
    }
    let folder = Section::ALL.into_iter().find(|section| section.folder() == address.trim_matches('/'));
    if let Some(section) = folder.filter(|_| !ui.json) {
        ui.write_result(&render_sections(library, std::iter::once(section), ui.style));
        return Ok(());
    }
    let part = command_section(library, program, topic);
    let part = part.or_else(|| {
        let explained = explain::explain_subject(&REGISTRY, topic).ok()?;
        let address = explain_address(&explained);
        let page = library.page(address.split('#').next()?)?;
        Some((page, explain_document(&explained)))
    });
    if let Some((page, part)) = part {
        print_documents(session, &[(page, &part)]);
        return Ok(());
    }
    search_pages(session, library, topic)
}

/// Returns the page of a command and the section of its subcommand: `state migrate`.
fn command_section<'l>(
    library: &'l Library,
    program: &clap::Command,
    topic: &str,
) -> Option<(&'l Page, PageContent)> {
    let mut command = program;
    for word in topic.split_whitespace() {
        command = command.find_subcommand(word).filter(|command| !command.is_hide_set())?;
    }
    let first = topic.split_whitespace().next()?;
    let page = library.page(&command_pages::command_address(first))?;
    let anchor = document::anchor_of(&format!("stead {topic}"));
    Some((page, document::section_at(&page.content, &anchor)?))
}

/// Prints documents, each of its page.
fn print_documents(session: &CommandContext, documents: &[(&Page, &PageContent)]) {
    let ui = &session.ui;
    if ui.json {
        let entry = |(page, part): &(&Page, &PageContent)| {
            let text = terminal::render_page(part, TextStyle::plain(TEXT_COLUMNS));
            PageEntry::new(page, Some(text))
        };
        ui.write_result(&docs_document(None, documents.iter().map(entry).collect()));
        return;
    }
    for (_, part) in documents {
        ui.write_result(&terminal::render_page(part, ui.style));
    }
}

/// Prints the pages that have the words of a topic, best first.
///
/// # Errors
/// When there is none.
fn search_pages(session: &CommandContext, library: &Library, topic: &str) -> Result<(), CliFailure> {
    let ui = &session.ui;
    let hits = SearchIndex::new(library).search(topic);
    let pages: Vec<&Page> = hits.iter().map(|hit| &library.pages()[hit.page]).take(MAX_RESULTS).collect();
    if pages.is_empty() {
        return Err(nothing_found(library, topic));
    }
    if ui.json {
        let pages = pages.iter().map(|page| PageEntry::new(page, None)).collect();
        ui.write_result(&docs_document(Some(topic.to_owned()), pages));
        return Ok(());
    }
    // A word with a dash or a slash may be meant to be the name of a page.
    if let Some(near) = near_name(library, topic).filter(|_| topic.contains(['-', '/'])) {
        ui.hint(&format!("no page has this name; did you mean `stead docs {near}`?"));
    }
    ui.write_result(&render_results(&pages, ui.style));
    ui.next(&format!("stead docs {}", topic_name(pages[0])));
    Ok(())
}

/// Width of a page in JSON, in columns.
const TEXT_COLUMNS: usize = 100;

fn render_results(pages: &[&Page], style: TextStyle) -> String {
    let mut text = TextPage::new(style);
    for page in pages {
        text.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, &page.content.title)
                .push_styled(TextRole::Faint, format!("  {}", page.address)),
        );
        text.add_line(TextLine::indent(2).continue_at(2).push_text(plain_text(&page.content.summary)));
    }
    text.finish()
}

/// Returns the name or address of a page that is almost the topic.
fn near_name<'l>(library: &'l Library, topic: &str) -> Option<&'l str> {
    let pages = library.pages().iter();
    nearest_name(topic, pages.clone().map(Page::name).chain(pages.map(|page| page.address.as_str())))
}

fn nothing_found(library: &Library, topic: &str) -> CliFailure {
    let failure = CliFailure::new(Exit::Usage, format!("no page has the name or the words `{topic}`"));
    match near_name(library, topic) {
        Some(near) => failure.help(format!("Did you mean `stead docs {near}`?")),
        None => failure.help("`stead docs` lists the pages."),
    }
}

#[cfg(test)]
mod tests;
