//! Paging: reads a list by limit and offset as the set at one moment, although pages shift, the service clamps the
//! limit, and `total` can be wrong.
//!
//! Adjacent pages overlap by one row, that row must be the same in both, and all pages must have the same `total`. If
//! the rows are provably ordered by creation, newest first, none of them can change places. So between the reads of two
//! adjacent pages as many rows were added (above the common row) as were removed above it, and none was removed below
//! it: otherwise the row would have moved, or the total changed. By induction, no page changed between the read of the
//! first page and its own, in whatever order they were read: the pass shows the state at the read of the first page.
//! If others add objects meanwhile, the total grows by their number, and the common row is found that much further down
//! its page, unless a row below it was removed: so a pass over a growing list still shows the state at its first page.
//! Inconsistent pages are read again; an unprovable pass is accepted when two passes agree.

use std::time::Duration;

use foldhash::HashSet;
use futures_util::future::try_join_all;
use jiff::Timestamp;

use super::object_reader::ObjectReader;
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::http::url_path::fill_path;
use crate::cloud::http::{decode, send};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::schema::Kind;

/// Maximum number of concurrent page requests.
const CONCURRENT_PAGES: usize = 32;

/// Minimum page size for overlapping pages: below it the overlap would cost too much.
const MIN_OVERLAPPING_PAGE: usize = 10;

/// Maximum number of passes over one list, one right after the other.
const MAX_PASSES: u32 = 6;

/// Pauses before further passes over a list that must be known before a creation: several workers may create objects of a
/// kind at the same time, and their burst ends.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(8),
];

/// Maximum number of pages of a list that changes that are read in vain in one pass.
const MAX_MISSED_PAGES: usize = 4 * CONCURRENT_PAGES;

/// Maximum number of rows of one list: more indicate an endless loop.
const MAX_LIST_ROWS: usize = 1_000_000;

/// Maximum number of pages of one list, for lists that never end.
const MAX_LIST_PAGES: usize = 20_000;

/// The scope of a list.
#[derive(Debug, Clone, Copy)]
pub(in crate::cloud) struct ListScope<'a> {
    /// The kind of the objects.
    pub kind: &'static Kind,
    /// The parent object, for children.
    pub parent: Option<&'a Name>,
    /// The project to filter by.
    pub project: Option<&'a Name>,
}

/// One page of a list, decoded to objects.
#[derive(Debug, Clone)]
struct DecodedPage {
    rows: Vec<Object>,
    total: Option<usize>,
    date: Option<Name>,
}

/// The error for a list that changed while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListChanged;

/// One pass over a list.
#[derive(Debug, Default)]
struct ListPass {
    /// The requested page size.
    limit: usize,
    rows: Vec<Object>,
    seen: HashSet<Name>,
    total: Option<usize>,
    /// Whether the list has no usable total: none is reported, or the reported number is smaller than the rows received
    /// or counts a single page. Then only an empty page proves the end.
    no_total: bool,
    date: Option<Name>,
    /// Rows of a full page; zero before the first page.
    size: usize,
    /// Number of rows of the first page.
    first: usize,
    /// Whether a second page must confirm that the first page is complete.
    confirms: bool,
    pages: usize,
    /// Two adjacent pages had no row in common.
    gaps: bool,
    /// How much the total of the last page differs from that of the first: the rows of the first page are that much
    /// further down now. `None` while it never differed.
    shift: Option<isize>,
    /// Pages of a list that changed that could not be used, because they begin below the known rows.
    missed: usize,
    ended: bool,
}

impl ListPass {
    /// Returns the offsets to request now, concurrently.
    fn next_offsets(&self) -> Vec<usize> {
        let shift = self.shift.unwrap_or(0);
        let start = (self.rows.len() - self.overlap_len()).saturating_add_signed(shift);
        let step = self.size.saturating_sub(self.overlap_len()).max(1);
        let end = self.total.filter(|_| self.size > 0).unwrap_or(0).saturating_add_signed(shift);
        let more =
            (1..CONCURRENT_PAGES).map(|i| start + i * step).take_while(|at| at + self.overlap_len() < end);
        std::iter::once(start).chain(more).collect()
    }

    /// Returns the number of rows that a page shares with the one before it.
    fn overlap_len(&self) -> usize {
        usize::from(self.size >= MIN_OVERLAPPING_PAGE && !self.rows.is_empty())
    }

    /// Adds the page at an offset, in order of offsets.
    fn accept_page(&mut self, offset: usize, part: DecodedPage) -> Result<(), ListChanged> {
        if self.pages == 0 {
            return self.take_first(part);
        }
        let overlap = self.overlap_len();
        if self.pages == 1 && self.total == Some(self.rows.len()) && part.total == Some(part.rows.len()) {
            // The reported total counts the rows of each page.
            self.total = None;
            self.no_total = true;
        }
        let total = part.total.filter(|_| !self.no_total);
        if total != self.total || self.shift.is_some() {
            return self.accept_moved_page(offset, part.rows, total);
        }
        if self.ended || offset != self.rows.len() - overlap {
            // A page beyond the end, or after a page that was shorter than the others.
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
            // It is not a total: only an empty page proves the end.
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

    /// Adds a page of a list whose total is or was another one than that of the first page.
    fn accept_moved_page(
        &mut self,
        offset: usize,
        rows: Vec<Object>,
        total: Option<usize>,
    ) -> Result<(), ListChanged> {
        let signed = |number: usize| isize::try_from(number).map_err(|_| ListChanged);
        let (Some(before), Some(now)) = (self.total, total) else { return Err(ListChanged) };
        if self.overlap_len() == 0 {
            return Err(ListChanged);
        }
        let shift = signed(now)? - signed(before)?;
        self.shift = Some(shift);
        if self.ended {
            return Ok(());
        }
        // The last known row is where it was in the first page's state, and further down by what was added above it.
        let position = signed(self.rows.len())? - 1 - signed(offset)? + shift;
        let Ok(position) = usize::try_from(position) else { return self.miss_page() };
        let mut rows = rows.into_iter().skip(position);
        match (rows.next(), self.rows.last()) {
            (None, _) => return self.miss_page(),
            (Some(row), Some(last)) if row.id == last.id => {}
            _ => return Err(ListChanged),
        }
        self.add_rows(rows)?;
        if self.rows.len() > before {
            return Err(ListChanged);
        }
        self.ended = self.rows.len() == before;
        Ok(())
    }

    /// Counts a page that does not continue the known rows: that part of the list is requested again, where it is now.
    fn miss_page(&mut self) -> Result<(), ListChanged> {
        self.missed += 1;
        if self.missed > MAX_MISSED_PAGES { Err(ListChanged) } else { Ok(()) }
    }

    fn take_first(&mut self, part: DecodedPage) -> Result<(), ListChanged> {
        self.date = part.date;
        // A total below the size of one page is not a total.
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

    /// Returns whether the pass proves by itself that it shows the state at one moment.
    fn is_instant(&self) -> bool {
        let whole = self.total == Some(self.rows.len());
        whole && (self.first == self.rows.len() || (!self.gaps && are_ordered(&self.rows)))
    }

    fn same_rows(&self, other: &Self) -> bool {
        self.rows.iter().map(|row| &row.id).eq(other.rows.iter().map(|row| &row.id))
    }
}

/// Returns whether rows have an immutable order: by creation, newest first, and rows of the same moment by their ids,
/// in either direction. The order of such a list cannot change.
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

/// Lists the objects at one moment. A first page with as many rows as its total is accepted as complete: only a service
/// that both returns smaller pages than requested and counts each page separately would omit rows in that case.
pub(in crate::cloud) async fn list_consistently<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
) -> Result<Vec<Object>, ReadError> {
    collect_passes(reader, scope, (false, &[])).await.map(|pass| pass.rows)
}

/// Lists the objects at one moment, independent of the reported totals, and returns the service's `Date` at the start.
pub(in crate::cloud) async fn list_stable<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
) -> Result<(Vec<Object>, Option<Name>), ReadError> {
    collect_passes(reader, scope, (true, &PAUSES)).await.map(|pass| (pass.rows, pass.date))
}

/// The first pages of a list, read one by one: the newest objects, where the service lists those first. Unlike a pass,
/// it proves nothing of what it does not show.
pub(in crate::cloud) struct FirstPages<'a> {
    scope: ListScope<'a>,
    rows: usize,
    size: usize,
    total: Option<usize>,
}

impl<'a> FirstPages<'a> {
    /// Returns the list before its first page is read.
    pub fn new(scope: ListScope<'a>) -> Self {
        Self { scope, rows: 0, size: 0, total: None }
    }

    /// Reads the next page.
    ///
    /// # Errors
    /// When it is refused or has no usable answer.
    pub async fn read_next<C: Transport, K: Clock, R: Random>(
        &mut self,
        reader: &ObjectReader<C, K, R>,
    ) -> Result<Vec<Object>, ReadError> {
        let page = read_page(reader, &self.scope, self.rows).await?;
        self.rows += page.rows.len();
        self.size = self.size.max(page.rows.len());
        self.total = page.total.filter(|total| *total >= self.rows);
        // As in a pass: a full page that claims to be the whole list is not believed.
        if self.total == Some(self.rows) && page.rows.len() >= reader.requests.page.get() {
            self.total = None;
        }
        Ok(page.rows)
    }

    /// Returns the number of pages that were not read, as the list states it; `None` where it does not.
    pub fn left(&self) -> Option<usize> {
        self.total.map(|total| (total - self.rows).div_ceil(self.size.max(1)))
    }
}

/// Repeats passes until one proves that it shows the state at one moment, or two consecutive ones agree. Ids are never
/// reused, so objects in both passes existed between them. After a pause, each next pass is tried that `pauses` allows.
async fn collect_passes<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    scope: &ListScope<'_>,
    (confirms, pauses): (bool, &[Duration]),
) -> Result<ListPass, ReadError> {
    if scope.kind.api.absent_when.is_some() {
        return read_singleton(reader, scope).await;
    }
    let mut before: Option<ListPass> = None;
    let mut reads = 0;
    let pauses = (0..MAX_PASSES).map(|_| Duration::ZERO).chain(pauses.iter().copied());
    for pause in pauses {
        if !pause.is_zero() {
            let spread = pause.mul_f64(reader.requests.random.fraction());
            reader.requests.clock.sleep(pause / 2 + spread).await;
        }
        reads += 1;
        let Ok(pass) = read_pass(reader, scope, confirms).await? else {
            before = None;
            continue;
        };
        if pass.is_instant()
            || before.as_ref().is_some_and(|before| pass.shift.is_none() && before.same_rows(&pass))
        {
            return Ok(pass);
        }
        // A pass over a list that changed meanwhile agrees with no other one by itself.
        before = Some(pass).filter(|pass| pass.shift.is_none());
    }
    let request = format!("GET {}", scope.kind.api.list.path);
    Err(ReadError::ListChanging { request, reads })
}

/// Reads the singleton of a kind; one that is switched off counts as absent.
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
