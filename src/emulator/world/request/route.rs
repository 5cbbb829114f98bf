//! `Route`: one row of the routing table, and the credentials that it requires ("Authentication").

use super::call::{Call, Reply};
use crate::model::schema::Method;

/// The credentials that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator::world) enum Access {
    /// No key is needed.
    Public,
    /// A key is needed; `X-Project-ID` is ignored.
    Account,
    /// A key is needed; without `X-Project-ID` a change applies to the default project. The specification does not say
    /// whether these routes require the header, so the emulator accepts both.
    Project,
    /// A key is needed; a mutating request must have `X-Project-ID`.
    ProjectStated,
    /// The signature in the URL is the only credential. The body is an archive, not JSON.
    Presigned,
}

/// One row of the routing table.
pub(in crate::emulator::world) struct Route {
    pub(in crate::emulator::world) method: Method,
    /// The path, with `{…}` for each variable segment; the text in braces is for readers and logs.
    pub(in crate::emulator::world) template: &'static str,
    pub(in crate::emulator::world) access: Access,
    pub(in crate::emulator::world) run: fn(&mut Call<'_>) -> Reply,
}

impl Route {
    pub(in crate::emulator::world) const fn new(
        method: Method,
        template: &'static str,
        access: Access,
        run: fn(&mut Call<'_>) -> Reply,
    ) -> Self {
        Self { method, template, access, run }
    }

    /// Returns the variable segments of a path that matches the template; `None` if it does not match.
    pub(in crate::emulator::world) fn match_path<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let mut params = Vec::new();
        let mut parts = path.split('/');
        for wanted in self.template.split('/') {
            let part = parts.next()?;
            if wanted.starts_with('{') && !part.is_empty() {
                params.push(part);
            } else if wanted != part {
                return None;
            }
        }
        parts.next().is_none().then_some(params)
    }
}
