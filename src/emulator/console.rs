//! The console page at `/`: its files, which are part of the program, and the content security policy that they are
//! served with. The page shows names that any client of the emulator chose, so it must not run them.

use super::message::CONTROL_PREFIX;
use super::world::ApiResponse;
use crate::model::page::BASE_STYLE;

/// The page's own style sheet, without the styles that all pages share.
const CSS: &str = include_str!("console/console.css");

/// Content security policy of the page: it may load its own two files only, and no inline code or style runs.
/// Its script cannot turn text into markup either.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns whether a path belongs to the emulator itself and not to the emulated service.
pub(super) fn is_own(path: &str) -> bool {
    path == "/" || path.starts_with(CONTROL_PREFIX)
}

/// Returns one of the page's files, or `None` for another path.
pub(super) fn console_file(path: &str) -> Option<ApiResponse> {
    let (kind, text) = match path {
        "/" => ("text/html; charset=utf-8", include_str!("console/index.html")),
        "/_emulator/console.css" => ("text/css; charset=utf-8", CSS),
        "/_emulator/console.js" => ("text/javascript; charset=utf-8", include_str!("console/console.js")),
        _ => return None,
    };
    let headers = [
        ("content-type", kind),
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ];
    let headers = headers.map(|(name, value)| (name, value.to_owned())).to_vec();
    let looks = if text == CSS { BASE_STYLE } else { "" };
    Some(ApiResponse { status: 200, headers, body: [looks, text].concat().into_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> String {
        String::from_utf8(console_file(path).unwrap().body).unwrap()
    }

    #[test]
    fn the_page_contains_no_inline_script_or_style() {
        let page = text("/");
        for word in [" on", "<style", "style=", "javascript:", "http:", "https:"] {
            assert!(!page.contains(word) || word == " on", "{word}");
        }
        let handlers = page.split_whitespace().filter(|word| word.starts_with("on") && word.contains('='));
        assert_eq!(handlers.collect::<Vec<_>>(), [""; 0]);
        assert_eq!(page.matches("<script").count(), 1);
    }

    #[test]
    fn the_script_writes_text_only() {
        let script = text("/_emulator/console.js");
        for word in
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "http"]
        {
            assert!(!script.contains(word), "{word}");
        }
    }

    #[test]
    fn every_element_that_the_script_names_is_on_the_page() {
        let (page, script) = (text("/"), text("/_emulator/console.js"));
        let named = script.split("at(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let forms = script.split("\non(\"").skip(1).filter_map(|rest| rest.split('"').next());
        for id in named.chain(forms) {
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        }
    }

    #[test]
    fn only_console_paths_are_served_by_the_console() {
        assert!(is_own("/") && is_own("/_emulator/x") && !is_own("/api/v1/vms") && !is_own("/_emulatorx"));
        assert!(console_file("/_emulator/console.html").is_none() && console_file("/index.html").is_none());
    }
}
