//! Paging: a list by limit and offset as the set that was there, although pages shift, the service
//! clamps the limit, and `total` can be wrong.
//!
//! Neighbouring pages overlap by one row, that row must be the same in both, and all pages must say
//! the same `total`. Where the rows prove to be ordered by creation, newest first, none of them can
//! change places. So between the reads of two neighbours as many rows came (above the common row) as
//! went above it, and none went below it: otherwise the row would have moved, or the total changed.
//! From neighbour to neighbour, no page changed between the read of the first page and its own, in
//! whatever order they were read: the pass shows the world as it was when the first page was read.
//! What does not fit together is read again; what proves nothing is believed when it is seen twice.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use jiff::Timestamp;

use super::object_reader::ObjectReader;
use crate::cloud::error::ReadError;
use crate::cloud::http::decode;
use crate::cloud::http::message::Transport;
use crate::cloud::http::send;
use crate::cloud::http::url_path::fill_path;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::schema::Kind;
use crate::model::snapshot::Object;

/// Pages that are asked for at the same time.
const CONCURRENT_PAGES: usize = 32;

/// Smallest page that still overlaps with its neighbours: below it the overlap would cost too much.
const MIN_OVERLAPPING_PAGE: usize = 10;

/// Most passes over one list.
const MAX_PASSES: u32 = 6;

/// Most rows of one list: more is no list but a loop.
const MAX_LIST_ROWS: usize = 1_000_000;

/// Most pages of one list, however few rows each has: a list that never ends takes no more requests.
const MAX_LIST_PAGES: usize = 20_000;

/// Which list.
#[derive(Debug, Clone, Copy)]
pub(in crate::cloud) struct ListScope<'a> {
    /// Of what.
    pub kind: &'static Kind,
    /// Under which object.
    pub parent: Option<&'a Name>,
    /// In which project.
    pub project: Option<&'a Name>,
}

/// One page, decoded.
#[derive(Debug, Clone)]
struct DecodedPage {
    rows: Vec<Object>,
    total: Option<usize>,
    date: Option<Name>,
}

/// The list moved while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListChanged;

/// One pass over a list.
#[derive(Debug, Default)]
struct ListPass {
    /// Rows that a page is asked for.
    limit: usize,
    rows: Vec<Object>,
    seen: HashSet<Name>,
    total: Option<usize>,
    /// What is called the total is none.
    no_total: bool,
    date: Option<Name>,
    /// Rows of a full page; zero before the first page.
    size: usize,
    /// Rows of the first page.
    first: usize,
    /// That the first page holds all must be seen on a second one.
    confirms: bool,
    pages: usize,
    /// Two pages had no row in common.
    gaps: bool,
    ended: bool,
}

impl ListPass {
    /// Returns the offsets to ask for now, at the same time.
    fn next_offsets(&self) -> Vec<usize> {
        let start = self.rows.len() - self.overlap_len();
        let step = self.size.saturating_sub(self.overlap_len()).max(1);
        let end = self.total.filter(|_| self.size > 0).unwrap_or(0);
        let more =
            (1..CONCURRENT_PAGES).map(|i| start + i * step).take_while(|at| at + self.overlap_len() < end);
        std::iter::once(start).chain(more).collect()
    }

    /// Rows that a page has in common with the one before it.
    fn overlap_len(&self) -> usize {
        usize::from(self.size >= MIN_OVERLAPPING_PAGE && !self.rows.is_empty())
    }

    /// Takes the page at an offset, in order of offsets.
    fn accept_page(&mut self, offset: usize, part: DecodedPage) -> Result<(), ListChanged> {
        if self.pages == 0 {
            return self.take_first(part);
        }
        let overlap = self.overlap_len();
        if self.pages == 1 && self.total == Some(self.rows.len()) && part.total == Some(part.rows.len()) {
            // It counts the rows of each page.
            self.total = None;
            self.no_total = true;
        }
        if part.total.filter(|_| !self.no_total) != self.total {
            return Err(ListChanged);
        }
        if self.ended || offset != self.rows.len() - overlap {
            // Beyond the end, or after a page that came shorter than the others.
            return if part.rows.len() <= overlap || !self.ended { Ok(()) } else { Err(ListChanged) };
        }
        let mut rows = part.rows.into_iter();
        let common = self.rows.last().map(|row| &row.id).filter(|_| overlap == 1).cloned();
        if common.is_some() && rows.next().map(|row| row.id) != common {
            return Err(ListChanged);
        }
        self.gaps |= overlap == 0 && rows.len() > 0;
        let count = rows.len() + overlap;
        let known = self.rows.len();
        self.add_rows(rows)?;
        if self.total.is_some_and(|total| self.rows.len() > total) {
            // It is no total: only an empty page says that nothing follows.
            self.total = None;
            self.no_total = true;
        }
        let all = self.total.is_some_and(|total| self.rows.len() >= total);
        self.ended = self.rows.len() == known || (count < self.size && all);
        if !self.ended && count < self.size {
            self.size = count;
        }
        Ok(())
    }

    fn take_first(&mut self, part: DecodedPage) -> Result<(), ListChanged> {
        self.date = part.date;
        // A total that is less than one page holds is none.
        self.no_total = part.total.is_none_or(|total| total < part.rows.len());
        self.total = part.total.filter(|_| !self.no_total);
        self.size = part.rows.len().min(self.limit);
        let short = part.rows.len() < self.limit;
        self.add_rows(part.rows.into_iter())?;
        let all = self.total.is_some_and(|total| self.rows.len() >= total);
        self.first = self.rows.len();
        self.ended = self.rows.is_empty() || (short && all && !self.confirms);
        Ok(())
    }

    fn add_rows(&mut self, rows: impl Iterator<Item = Object>) -> Result<(), ListChanged> {
        self.pages += 1;
        for row in rows {
            if !self.seen.insert(row.id.clone()) {
                return Err(ListChanged);
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Tells whether the pass proves by itself that it shows the world at one instant.
    fn is_instant(&self) -> bool {
        let whole = self.total == Some(self.rows.len());
        whole && (self.first == self.rows.len() || (!self.gaps && are_ordered(&self.rows)))
    }

    fn same_rows(&self, other: &Self) -> bool {
        self.rows.iter().map(|row| &row.id).eq(other.rows.iter().map(|row| &row.id))
    }
}

/// Tells whether rows are ordered by what never changes: by creation, newest first, and those of one
/// moment by their ids, in either direction. Such a list cannot be put into another order.
fn are_ordered(rows: &[Object]) -> bool {
    let (mut rising, mut falling) = (false, false);
    let mut last: Option<(Timestamp, &Name)> = None;
    for row in rows {
        let Some(born) = row.created_at.as_ref().and_then(|born| born.parse().ok()) else { return false };
        match last.replace((born, &row.id)) {
            Some((newer, _)) if newer < born => return false,
            Some((one, id)) if one == born => {
                rising |= *id < row.id;
                falling |= *id > row.id;
            }
            _ => {}
        }
    }
    !(rising && falling)
}

/// Lists what was there at one instant. A first page that holds as many rows as it says there are is
/// believed to hold all: only a service that both gives smaller pages than it is asked for and counts
/// each page by itself leaves something out so.
pub(in crate::cloud) async fn list_consistently<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
) -> Result<Vec<Object>, ReadError> {
    collect_passes(reader, scope, false).await.map(|pass| pass.rows)
}

/// Lists what was there at one instant, whatever the service says of totals, with the service's `Date`
/// at its beginning.
pub(in crate::cloud) async fn list_stable<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
) -> Result<(Vec<Object>, Option<Name>), ReadError> {
    collect_passes(reader, scope, true).await.map(|pass| (pass.rows, pass.date))
}

/// Reads passes until one proves that it shows the world at one instant, or two in a row agree. Ids are
/// never used again, so what two passes saw was there between them.
async fn collect_passes<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
    confirms: bool,
) -> Result<ListPass, ReadError> {
    if scope.kind.api.absent_when.is_some() {
        return read_singleton(reader, scope).await;
    }
    let mut before: Option<ListPass> = None;
    for _ in 0..MAX_PASSES {
        let Ok(pass) = read_pass(reader, scope, confirms).await? else {
            before = None;
            continue;
        };
        if pass.is_instant() || before.as_ref().is_some_and(|before| before.same_rows(&pass)) {
            return Ok(pass);
        }
        before = Some(pass);
    }
    let request = format!("GET {}", scope.kind.api.list.path);
    Err(ReadError::ListChanging { request, reads: MAX_PASSES })
}

/// Reads the only object of its kind; one that is switched off is none.
async fn read_singleton<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
) -> Result<ListPass, ReadError> {
    let endpoint = scope.kind.api.list;
    let fail = |reason| ReadError::Failed { request: format!("GET {}", endpoint.path), reason };
    let (json, date) = send::read(&reader.requests, endpoint.path, Vec::new(), None).await?;
    let record = decode::find_payload(&json, endpoint.envelope);
    let record = record.ok_or_else(|| fail("the answer holds no object".to_owned()))?;
    let object = decode::parse_object(scope.kind, record, None, true).map_err(fail)?;
    let off = scope.kind.api.absent_when.is_some_and(|(attribute, value)| {
        object.attributes.get(attribute).is_none_or(|live| *live == value.value())
    });
    Ok(ListPass { rows: if off { Vec::new() } else { vec![object] }, date, ..ListPass::default() })
}

async fn read_pass<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
    confirms: bool,
) -> Result<Result<ListPass, ListChanged>, ReadError> {
    let mut pass = ListPass { limit: reader.requests.page.get(), confirms, ..ListPass::default() };
    while !pass.ended {
        if pass.rows.len() > MAX_LIST_ROWS || pass.pages > MAX_LIST_PAGES {
            return Err(ReadError::Failed {
                request: format!("GET {}", scope.kind.api.list.path),
                reason: format!("the list does not end: {} rows on {} pages", pass.rows.len(), pass.pages),
            });
        }
        let offsets = pass.next_offsets();
        let parts = try_join_all(offsets.iter().map(|offset| read_page(reader, scope, *offset))).await?;
        for (offset, part) in offsets.into_iter().zip(parts) {
            if pass.accept_page(offset, part).is_err() {
                return Ok(Err(ListChanged));
            }
        }
    }
    Ok(Ok(pass))
}

async fn read_page<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
    offset: usize,
) -> Result<DecodedPage, ReadError> {
    let template = scope.kind.api.list.path;
    let fail = |reason| ReadError::Failed { request: format!("GET {template}"), reason };
    let path =
        fill_path(template, None, scope.parent.map(Name::as_str)).map_err(|e| fail(e.to_string()))?;
    let query = vec![("limit", reader.requests.page.get().to_string()), ("offset", offset.to_string())];
    let mut count = reader.requests.count.get();
    count.pages += 1;
    reader.requests.count.set(count);
    let (json, date) = send::read(&reader.requests, &path, query, scope.project).await?;
    let page = decode::parse_page(json).map_err(fail)?;
    let decoded = page.rows.iter().map(|row| {
        let mut object = decode::parse_object(scope.kind, row, scope.parent, false)?;
        let ids: Vec<Name> = decode::all_ids(scope.kind, row).collect();
        reader.ids.record_ids(scope.kind, &object, &ids);
        reader.ids.use_known_id(&mut object);
        Ok(object)
    });
    let mut rows = decoded.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    for row in &mut rows {
        reader.resolve_references(scope.kind, &mut row.attributes).await?;
    }
    Ok(DecodedPage { rows, total: page.total.and_then(|total| usize::try_from(total).ok()), date })
}

#[cfg(test)]
#[path = "paging/tests/oracle.rs"]
mod oracle;
#[cfg(test)]
mod tests;
