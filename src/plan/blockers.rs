//! `Blockers`: the blockers of a plan, collected while it is made. A check adds them in any order;
//! `into_sorted` makes the order independent of the checks, so equal plans list equal blockers.

use super::join::joined_state::{JoinedState, ResourceState};
use super::model::block::Blocker;
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code::BlockerCode;
use crate::model::source::{SourceLocation, Span};

/// The blockers of one plan, in the order in which they were found.
pub(super) struct Blockers<'s, 'a> {
    joined: &'s JoinedState<'a>,
    all: Vec<Blocker>,
}

impl<'s, 'a> Blockers<'s, 'a> {
    /// Creates an empty list; `joined` resolves spans to locations.
    pub fn new(joined: &'s JoinedState<'a>) -> Self {
        Self { joined, all: Vec::new() }
    }

    /// Adds a blocker about a resource, located at `span`, else at its block, or at what leaves it out.
    pub fn add_for_subject(
        &mut self,
        code: BlockerCode,
        subject: &ResourceState<'_>,
        span: Option<Span>,
        text: String,
        help: String,
    ) {
        let source = span
            .or_else(|| subject.block.map(|block| block.span))
            .or_else(|| self.joined.left_out(subject.address).map(|(_, span)| span))
            .and_then(|span| self.resolve_location(span));
        let address = Some(subject.address.clone());
        self.all.push(Blocker { code: code.code.into(), address, text, help, source });
    }

    /// Adds a blocker about an address without a resource, or about the whole plan.
    pub fn add_for_address(
        &mut self,
        code: BlockerCode,
        address: Option<&Address>,
        text: String,
        help: String,
    ) {
        self.all.push(Blocker {
            code: code.code.into(),
            address: address.cloned(),
            text,
            help,
            source: None,
        });
    }

    /// Adds a blocker about an address, located at `span`; without a span it has no location.
    pub fn add_at_span(
        &mut self,
        code: BlockerCode,
        address: &Address,
        span: Option<Span>,
        text: String,
        help: String,
    ) {
        let source = span.and_then(|span| self.resolve_location(span));
        self.all.push(Blocker {
            code: code.code.into(),
            address: Some(address.clone()),
            text,
            help,
            source,
        });
    }

    /// Adds a blocker about a location in a file, and about no resource.
    pub fn at_place(&mut self, code: BlockerCode, span: Option<Span>, text: String, help: String) {
        let source = span.and_then(|span| self.resolve_location(span));
        self.all.push(Blocker { code: code.code.into(), address: None, text, help, source });
    }

    /// Adds a blocker that was built by a pure check; `None` adds nothing.
    pub fn extend(&mut self, found: Option<Blocker>) {
        self.all.extend(found);
    }

    /// Returns the blockers found so far.
    pub fn as_slice(&self) -> &[Blocker] {
        &self.all
    }

    /// Returns the number of blockers found so far.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Keeps only the first `count` blockers: the checks that found the others run again, on changed decisions.
    pub fn truncate_to(&mut self, count: usize) {
        self.all.truncate(count);
    }

    /// Returns the blockers, sorted by code and address, without duplicates.
    pub fn into_sorted(mut self) -> Vec<Blocker> {
        self.all.sort_by(|a, b| (&a.code, &a.address, &a.text).cmp(&(&b.code, &b.address, &b.text)));
        self.all.dedup();
        self.all
    }

    fn resolve_location(&self, span: Span) -> Option<SourceLocation> {
        self.joined.inputs.stack.sources.location_of(span)
    }
}
