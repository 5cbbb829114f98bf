//! The frame around a page: heading, search, navigation, the page's own contents, and its neighbors.

use maud::{DOCTYPE, Markup, html};

use super::markup;
use super::paths::page_path;
use crate::guide::document::{Block, Target, plain_text};
use crate::guide::library::{Library, Page, Section};

/// Fewest headings for which a page lists its contents.
const MIN_CONTENTS: usize = 3;

/// What the picture on the first page shows.
const PICTURE_TEXT: &str = "A plan of stead in a terminal: a VM is replaced because its template changed, and the resources that depend on it are updated";

/// What a page may load: the files of the site, also where it is a directory. A server adds that it is in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; form-action 'self' file:; base-uri 'none'";

/// Returns a page of the site.
pub(super) fn render_page(library: &Library, page: &Page) -> String {
    let root = "../".repeat(page.address.matches('/').count());
    let content = html! {
        @if page.section() != Section::Home { p.section { (page.section().title()) } }
        h1 { (page.content.title) }
        p.summary { (markup::render_inlines(&page.content.summary, &root)) }
        @if page.section() == Section::Home {
            img.plan src="plan.svg" width="860" alt=(PICTURE_TEXT);
        }
        (render_contents(page))
        (markup::render_blocks(&page.content.blocks, &root))
        (render_neighbors(library, page, &root))
    };
    let title = match page.section() {
        Section::Home => page.content.title.clone(),
        _ => format!("{} · stead", page.content.title),
    };
    let description = plain_text(&page.content.summary);
    render_frame(library, Some(page), &root, &title, &description, &content)
}

/// Returns the page that lists the results of a search; a script fills it.
pub(super) fn render_search_page(library: &Library) -> String {
    let content = html! {
        h1 { "Search" }
        p id="search-status" role="status" { "Type into the field above." }
        ol.results id="search-results" {}
        noscript { p { "The search needs JavaScript. " a href="index.html" { "All guides are on the first page." } } }
    };
    render_frame(library, None, "", "Search · stead", "Search the documentation of stead.", &content)
}

fn render_frame(
    library: &Library,
    page: Option<&Page>,
    root: &str,
    title: &str,
    description: &str,
    content: &Markup,
) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" data-root=(root) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="description" content=(description);
                title { (title) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href={ (root) "style.css" };
                script src={ (root) "script.js" } defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    a.name href={ (root) "index.html" } { "stead" }
                    form role="search" action={ (root) "search.html" } {
                        label.hidden for="search" { "Search the documentation" }
                        input id="search" name="q" type="search" placeholder="Search ( / )" autocomplete="off"
                            role="combobox" aria-expanded="false" aria-controls="suggestions" aria-autocomplete="list";
                        ul id="suggestions" role="listbox" aria-label="Pages" hidden {}
                    }
                }
                div.columns {
                    main id="content" tabindex="-1" { (content) }
                    (render_navigation(library, page, root))
                }
                footer { p { "stead " (env!("CARGO_PKG_VERSION")) ". In the terminal: " code { "stead docs" } } }
            }
        }
    };
    document.into_string()
}

fn render_navigation(library: &Library, page: Option<&Page>, root: &str) -> Markup {
    let current = page.map(|page| page.address.as_str()).unwrap_or_default();
    let link = |address: &str, title: &str| {
        html! {
            li { a href={ (root) (page_path(address)) } aria-current=[(address == current).then_some("page")] { (title) } }
        }
    };
    html! {
        nav aria-label="Documentation" {
            @for section in Section::ALL.into_iter().filter(|section| *section != Section::Home) {
                details open[page.is_none_or(|page| matches!(page.section(), Section::Home) || page.section() == section)] {
                    summary { (section.title()) }
                    ul {
                        @for page in library.listed_pages(section) { (link(&page.address, &page.content.title)) }
                    }
                }
            }
        }
    }
}

/// Returns the sections of a page as links, if there are enough.
fn render_contents(page: &Page) -> Markup {
    let headings = page.content.blocks.iter().filter_map(|block| match block {
        Block::Heading { level: 2, text, anchor } => Some((plain_text(text), anchor)),
        _ => None,
    });
    let headings: Vec<_> = headings.collect();
    html! {
        @if headings.len() >= MIN_CONTENTS {
            details.contents open[page.section() != Section::Reference] {
                summary { "On this page" }
                ul { @for (text, anchor) in &headings { li { a href={ "#" (anchor) } { (text) } } } }
            }
        }
    }
}

/// Returns links to the pages before and after this one in its section.
fn render_neighbors(library: &Library, page: &Page, root: &str) -> Markup {
    let section = page.section();
    if matches!(section, Section::Reference | Section::Home) {
        return html! {};
    }
    let pages: Vec<&Page> = library.pages().iter().filter(|other| other.section() == section).collect();
    let at = pages.iter().position(|other| other.address == page.address).unwrap_or(0);
    let before = at.checked_sub(1).and_then(|at| pages.get(at));
    let link = |page: &Page, rel: &str, mark: &str| {
        html! { a rel=(rel) href=(markup::href(&Target::page(&page.address), root)) { (mark) (page.content.title) } }
    };
    html! {
        nav.neighbors aria-label="Neighboring pages" {
            @if let Some(page) = before { (link(page, "prev", "Previous: ")) }
            @if let Some(page) = pages.get(at + 1) { (link(page, "next", "Next: ")) }
        }
    }
}
