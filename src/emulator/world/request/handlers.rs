//! `Handlers`: what a kind does with its records when a request shows one, and when the clock reaches an event. It is
//! apart from `RecordKind` because it needs `World`, which contains the tables.

use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::state::world::{StoredKind, World};

/// What the representation of a record depends on besides the record.
#[derive(Clone, Copy)]
pub(in crate::emulator::world) struct RenderContext<'a> {
    pub(in crate::emulator::world) world: &'a World,
    pub(in crate::emulator::world) now: Time,
    /// Whether the response is for one object by id, which has fields that lists omit.
    pub(in crate::emulator::world) detail: bool,
}

/// The behavior of a kind, which may depend on the records of other kinds.
pub(in crate::emulator::world) trait Handlers: StoredKind {
    /// Handles an event that is due at `_at`, while the clock moves to `_until`. It may skip work whose effect is
    /// no longer visible then. Afterwards `next` must return a later time, or the record must be removed: otherwise
    /// the clock never advances.
    fn happen(world: &mut World, id: Uuid, _at: Time, _until: Time) {
        Self::table_mut(world).remove(id);
    }
    /// Writes the fields of the API representation.
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>);
}

/// An event that the clock triggers, of one record or of the spend cap.
pub(in crate::emulator::world) struct ScheduledEvent {
    pub(in crate::emulator::world) at: Time,
    pub(in crate::emulator::world) id: Uuid,
    /// Handler of the event. Its arguments are the world, the record, the time when it was due, and the time that
    /// the clock moves to.
    pub(in crate::emulator::world) happen: fn(&mut World, Uuid, Time, Time),
}
