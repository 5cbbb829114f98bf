//! The web site: all pages as plain files, with a search that needs no server. In: the library. Out: paths and contents.
//! A page loads nothing from other hosts, and works from a directory, with a keyboard, on a phone, in light and dark.

mod layout;
mod markup;
mod paths;

use self::paths::page_path;
pub use self::paths::web_address;
use super::library::{Library, Page};
use super::search::SearchIndex;

/// A file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Path below the root of the site, with slashes.
    pub path: String,
    /// Media type, for a server.
    pub media_type: &'static str,
    /// Content of the file.
    pub text: String,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = include_str!("site/style.css");
const SCRIPT: &str = include_str!("site/script.js");
/// The plan that the README describes, drawn by `stead plan --report svg`.
const PICTURE: &str = include_str!("site/plan.svg");

/// Returns the files of the site: each page at its address with the ending `.html`, the search page, style, scripts
/// and a picture.
#[must_use]
pub fn site_files(library: &Library) -> Vec<SiteFile> {
    let page = |page: &Page| SiteFile {
        path: page_path(&page.address),
        media_type: HTML,
        text: layout::render_page(library, page),
    };
    let mut files: Vec<SiteFile> = library.pages().iter().map(page).collect();
    let script = "text/javascript; charset=utf-8";
    let index = SearchIndex::new(library).to_script(library);
    files.extend([
        SiteFile {
            path: "search.html".into(),
            media_type: HTML,
            text: layout::render_search_page(library),
        },
        SiteFile {
            path: "style.css".into(),
            media_type: "text/css; charset=utf-8",
            text: STYLE.to_owned(),
        },
        SiteFile { path: "script.js".into(), media_type: script, text: SCRIPT.to_owned() },
        SiteFile { path: "plan.svg".into(), media_type: "image/svg+xml", text: PICTURE.to_owned() },
        SiteFile { path: "search-index.js".into(), media_type: script, text: index },
    ]);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::markdown::parse_page;

    fn page(address: &str, text: &str) -> Page {
        Page { address: address.to_owned(), content: parse_page(text, address) }
    }

    #[test]
    fn a_site_has_a_file_for_each_page_and_links_relative_to_it() {
        let library = Library::from_pages(vec![
            page("index", "# Home\n\nS.\n\n[x](how-to/x.md#two)\n"),
            page(
                "how-to/x",
                "# X & Y\n\nS.\n\n## Two\n\n[home](../index.md) & `<i>`\n\n```console\n$ a <c>\n```\n",
            ),
        ]);
        let files = site_files(&library);
        let text = |path: &str| &files.iter().find(|file| file.path == path).unwrap().text;
        assert!(text("index.html").contains("href=\"how-to/x.html#two\""), "{}", text("index.html"));
        let x = text("how-to/x.html");
        for part in
            ["href=\"../index.html\"", "X &amp; Y", "&lt;i&gt;", "id=\"two\"", "href=\"../style.css\""]
        {
            assert!(x.contains(part), "{part}: {x}");
        }
        assert!(!x.contains("<i>") && !x.contains("<c>"));
        assert_eq!(
            web_address("http://h/d", "reference/kinds/vm#plan"),
            "http://h/d/reference/kinds/vm.html#plan"
        );
    }

    #[test]
    fn the_site_names_no_other_host_in_what_it_loads() {
        let library =
            Library::from_pages(vec![page("index", "# Home\n\nS. [out](https://example.com/a)\n")]);
        for file in site_files(&library) {
            for attribute in
                ["src=\"http", "@import", "url(http", "fetch(", "<link rel=\"stylesheet\" href=\"http"]
            {
                assert!(!file.text.contains(attribute), "{}: {attribute}", file.path);
            }
        }
    }
}
