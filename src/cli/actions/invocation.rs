//! `Scene`: one action on one object, as it was asked for.

use super::registry::Deed;
use super::request::Order;
use super::target::{Ground, Target};
use crate::cli::args::Do;
use crate::cli::command_context::Session;

/// One action on one object, as it was asked for.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Scene<'a> {
    /// Settings and voice.
    pub(in crate::cli) session: &'a Session,
    /// Where.
    pub(in crate::cli) ground: &'a Ground,
    /// The action.
    pub(in crate::cli) deed: Deed,
    /// Its object.
    pub(in crate::cli) target: &'a Target,
    /// What was given.
    pub(in crate::cli) args: &'a Do,
    /// Its request.
    pub(in crate::cli) order: &'a Order,
}
