//! Where a page is: below the root of the site, and on the web.

/// Returns the path of a page's file below the root of the site.
#[must_use]
pub fn page_path(address: &str) -> String {
    format!("{address}.html")
}

/// Returns the web address of a page below a base address without a trailing slash; the page's address may have an
/// anchor.
#[must_use]
pub fn web_address(base: &str, address: &str) -> String {
    let (address, anchor) = match address.split_once('#') {
        Some((address, anchor)) => (address, format!("#{anchor}")),
        None => (address, String::new()),
    };
    format!("{}/{}{anchor}", base, page_path(address))
}
