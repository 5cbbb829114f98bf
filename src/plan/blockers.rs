//! `Blockers`: why a plan cannot be applied, gathered while it is made.

use super::join::joined_state::{JoinedState, ResourceState};
use super::model::block::Blocker;
use crate::model::address::Address;
use crate::model::source::{SourceLocation, Span};

/// The blocks of one plan.
pub(super) struct Blockers<'s, 'a> {
    survey: &'s JoinedState<'a>,
    all: Vec<Blocker>,
}

impl<'s, 'a> Blockers<'s, 'a> {
    /// Starts without any.
    pub fn new(survey: &'s JoinedState<'a>) -> Self {
        Self { survey, all: Vec::new() }
    }

    /// Adds one about a subject, at its block or at a better place.
    pub fn add_for_subject(
        &mut self,
        code: &'static str,
        subject: &ResourceState<'_>,
        span: Option<Span>,
        text: String,
        help: String,
    ) {
        let source = span
            .or_else(|| subject.block.map(|block| block.span))
            .and_then(|span| self.resolve_location(span));
        let address = Some(subject.address.clone());
        self.all.push(Blocker { code: code.into(), address, text, help, source });
    }

    /// Adds one about an address without a subject, or about the whole plan.
    pub fn add_for_address(
        &mut self,
        code: &'static str,
        address: Option<&Address>,
        text: String,
        help: String,
    ) {
        self.all.push(Blocker { code: code.into(), address: address.cloned(), text, help, source: None });
    }

    /// Adds one about an address, at a place.
    pub fn add_at_span(
        &mut self,
        code: &'static str,
        address: &Address,
        span: Option<Span>,
        text: String,
        help: String,
    ) {
        let source = span.and_then(|span| self.resolve_location(span));
        self.all.push(Blocker { code: code.into(), address: Some(address.clone()), text, help, source });
    }

    /// Adds one about what is written at a place, and about no resource.
    pub fn at_place(&mut self, code: &'static str, span: Option<Span>, text: String, help: String) {
        let source = span.and_then(|span| self.resolve_location(span));
        self.all.push(Blocker { code: code.into(), address: None, text, help, source });
    }

    /// Adds one that was found already.
    pub fn extend(&mut self, found: Option<Blocker>) {
        self.all.extend(found);
    }

    /// Returns those that were found so far.
    pub fn as_slice(&self) -> &[Blocker] {
        &self.all
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Keeps only the first ones: what was found after them is looked for again.
    pub fn truncate_to(&mut self, count: usize) {
        self.all.truncate(count);
    }

    /// Returns them, by code and address.
    pub fn into_sorted(mut self) -> Vec<Blocker> {
        self.all.sort_by(|a, b| (&a.code, &a.address, &a.text).cmp(&(&b.code, &b.address, &b.text)));
        self.all.dedup();
        self.all
    }

    fn resolve_location(&self, span: Span) -> Option<SourceLocation> {
        self.survey.inputs.stack.sources.location_of(span)
    }
}
