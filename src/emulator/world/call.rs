//! `Call`: a request that was routed and let in, with what a kind's behaviour needs to answer it.

use uuid::Uuid;

use super::Time;
use super::body::Body as Input;
use super::exchange::{Refusal, Response};
use super::grant::Grant;
use super::json::Fields;
use super::permission::Need;
use super::table::{Body, Record, View};
use super::tables::World;

/// What `X-Project-ID` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Nothing.
    Whole,
    /// One of the account's projects.
    Project(Uuid),
    /// Something that is none of them.
    Nowhere,
}

/// A request on its way through a kind's behaviour.
pub(super) struct Call<'a> {
    pub(super) world: &'a mut World,
    pub(super) now: Time,
    pub(super) scope: Scope,
    pub(super) grant: Grant,
    /// The permission that the route needs.
    pub(super) need: Option<Need>,
    pub(super) params: Vec<&'a str>,
    pub(super) query: &'a [(String, String)],
    pub(super) body: Input,
}

/// The answer of a behaviour.
pub(super) type Reply = Result<Response, Refusal>;

const DEFAULT_PAGE: usize = 20;
const LARGEST_PAGE: usize = 100;

impl Call<'_> {
    /// Returns a part of the path that the route leaves open.
    pub(super) fn param(&self, index: usize) -> &str {
        self.params.get(index).copied().unwrap_or_default()
    }

    /// Returns the project that a change goes to; the account's default one unless the header says.
    pub(super) fn project(&self) -> Uuid {
        match self.scope {
            Scope::Project(id) => id,
            Scope::Whole | Scope::Nowhere => self.world.default_project(),
        }
    }

    /// Returns the id of whoever asks.
    pub(super) fn caller(&self) -> Uuid {
        match self.grant {
            Grant::Whole => self.world.account.id,
            Grant::Key { id, .. } => id,
        }
    }

    /// Refuses a caller who lacks a further permission in the project of the request.
    pub(super) fn also_needs(&self, permission: &str) -> Result<(), Refusal> {
        match Need::named(permission) {
            Some(need) => self.grant.permit(need, self.project(), "project"),
            None => Ok(()),
        }
    }

    /// Finds the object that the path means, within the project that a change names.
    pub(super) fn find<T: Body>(&self) -> Result<&Record<T>, Refusal> {
        let id = Uuid::try_parse(self.param(0)).ok();
        let found = id.and_then(|id| self.world.table::<T>().get(id));
        self.visible(found)
    }

    /// Hides an object of another project than the one that the header names, or of one that the caller
    /// has no business with.
    pub(super) fn visible<'r, T: Body>(
        &self,
        found: Option<&'r Record<T>>,
    ) -> Result<&'r Record<T>, Refusal> {
        let record = found.ok_or_else(|| Refusal::unknown(T::TITLE))?;
        match (self.scope, record.project) {
            (Scope::Project(wanted), Some(project)) if wanted != project => Err(Refusal::unknown(T::TITLE)),
            (_, Some(project)) => match self.need {
                Some(need) => self.grant.permit(need, project, T::TITLE).map(|()| record),
                None => Ok(record),
            },
            _ => Ok(record),
        }
    }

    /// Finds an object that a body names, in a project that the caller has business with.
    pub(super) fn named<T: Body>(&self, id: Uuid) -> Result<&Record<T>, Refusal> {
        let found = self.world.table::<T>().get(id);
        let known = |project| !self.grant.within(project).is_empty();
        found.filter(|record| record.project.is_none_or(known)).ok_or_else(|| Refusal::unknown(T::TITLE))
    }

    /// Changes a record.
    pub(super) fn update<T: Body>(&mut self, id: Uuid, change: impl FnOnce(&mut Record<T>)) {
        let now = self.now;
        self.world.table_mut::<T>().update(id, now, change);
    }

    /// Answers with one record under `data`.
    pub(super) fn show<T: Body>(&self, status: u16, id: Uuid, message: &str) -> Reply {
        self.show_as::<T>("data", status, id, message)
    }

    /// Answers with one record under a key of its own.
    pub(super) fn show_as<T: Body>(&self, key: &str, status: u16, id: Uuid, message: &str) -> Reply {
        let record = self.world.table::<T>().get(id).ok_or_else(|| Refusal::unknown(T::TITLE))?;
        let view = View { world: self.world, now: self.now, detail: true };
        Ok(success(status, message, |fields| {
            fields.object(key, |inner| T::show(record, view, inner));
        }))
    }

    /// Returns `(offset, limit)` of the query.
    pub(super) fn window(&self) -> Result<(usize, usize), Refusal> {
        let number = |name: &str, least: usize, default: usize| {
            let Some((_, text)) = self.query.iter().find(|(key, _)| key == name) else {
                return Ok(default);
            };
            match text.parse() {
                Ok(number) if number >= least => Ok(number),
                _ => Err(Refusal::bad(format!("{name} must be a whole number of at least {least}"))),
            }
        };
        Ok((number("offset", 0, 0)?, number("limit", 1, DEFAULT_PAGE)?.min(LARGEST_PAGE)))
    }

    /// Answers with a page of the records, youngest first, of the project that the header names.
    pub(super) fn list<T: Body>(&self) -> Reply {
        let (offset, limit) = self.window()?;
        let table = self.world.table::<T>();
        let project = match self.scope {
            Scope::Whole => None,
            Scope::Project(id) => Some(id),
            Scope::Nowhere => Some(Uuid::nil()),
        };
        let view = View { world: self.world, now: self.now, detail: false };
        if let (Scope::Whole, Some(need), Some(theirs)) = (self.scope, self.need, self.grant.projects())
            && need.of_projects()
        {
            let theirs = theirs.iter().filter(|(_, held)| held.holds(need));
            let projects: Vec<_> = theirs.map(|(project, _)| *project).collect();
            let total = projects.iter().map(|project| table.len(Some(*project))).sum();
            let page = table.merged(&projects, offset, limit);
            return Ok(listing(total, page, |fields, record| T::show(record, view, fields)));
        }
        let page = table.page(project, offset, limit);
        Ok(listing(table.len(project), page, |fields, record| T::show(record, view, fields)))
    }

    /// Answers with a page of things that are not records.
    pub(super) fn list_of<T>(&self, items: &[T], fill: impl Fn(&mut Fields<'_>, &T)) -> Reply {
        let (offset, limit) = self.window()?;
        Ok(listing(items.len(), items.iter().skip(offset).take(limit), fill))
    }
}

/// Returns `{success, data…, message}`.
pub(super) fn success(status: u16, message: &str, fill: impl FnOnce(&mut Fields<'_>)) -> Response {
    let mut body = Vec::with_capacity(1024);
    Fields::write(&mut body, |fields| {
        fields.put("success", &true);
        fill(fields);
        fields.put("message", message);
    });
    Response::json(status, body)
}

/// Returns `{success, message}`.
pub(super) fn done(message: &str) -> Response {
    success(200, message, |_| {})
}

/// Returns `{data, total}`.
pub(super) fn listing<T>(
    total: usize,
    page: impl IntoIterator<Item = T>,
    fill: impl Fn(&mut Fields<'_>, T),
) -> Response {
    let mut body = Vec::with_capacity(4096);
    Fields::write(&mut body, |fields| {
        fields.array("data", page, fill);
        fields.put("total", &total);
    });
    Response::json(200, body)
}
