//! `backup_schedule`: recurring backups of a VM. The specification does not show the shapes, so they are assumed.

use uuid::Uuid;

use super::backup::{self};
use super::vm_actions::require_stable_vm;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::compute::{Backup, BackupSchedule, Frequency, Vm};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/backup-schedules";
const ITEM: &str = "/api/v1/backup-schedules/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::ProjectStated, |call| {
        call.list_records::<BackupSchedule>()
    }),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_backup_schedule),
    Route::new(Method::Get, ITEM, Access::Account, read_backup_schedule),
    Route::new(Method::Patch, ITEM, Access::ProjectStated, update_backup_schedule),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_backup_schedule),
];

impl Handlers for BackupSchedule {
    fn happen(world: &mut World, id: Uuid, at: Time, until: Time) {
        let Some(record) = world.backup_schedules.get(id) else { return };
        let Some(disk) = world.vms.get(record.body.vm_id).map(|vm| vm.body.disk_size()) else {
            // Deleting a VM deletes its schedules, so `mutate` must have changed this one.
            return world.backup_schedules.amend(id, |record| record.body.last_run = Some(at));
        };
        let (body, project) = (record.body.clone(), record.project);
        let skipped = count_skippable_runs(world, id, &body, disk, until.duration_since(at).as_secs());
        let run = time_after(at, skipped * body.period_secs());
        let made = body.made + skipped + 1;
        world.backup_schedules.amend(id, |record| {
            record.body.made = made;
            record.body.last_run = Some(run);
        });
        let backup = body.new_backup(disk, made, id, run);
        backup::create_scheduled_backup(world, backup_id(id, made), project, run, backup);
        remove_oldest_backups(world, id, body.retention);
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let schedule = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("vm_id", &schedule.vm_id);
        fields.write_field("frequency", &schedule.frequency);
        fields.write_field("day_of_week", &schedule.day_of_week);
        fields.write_field("hour", &schedule.hour);
        fields.write_field("retention", &schedule.retention);
        fields.write_field("enabled", &schedule.enabled);
        fields.write_field("next_run_at", &schedule.next_run(view.now));
        fields.write_field("project_id", &record.project);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Returns the id of a schedule's backup. It depends on no other request, so that it is the same however the
/// clock reached this time.
fn backup_id(schedule: Uuid, number: i64) -> Uuid {
    seeded_rng::nth_uuid(schedule.as_u64_pair().1, u64::try_from(number).unwrap_or_default())
}

/// Returns how many runs can be skipped, from a due one on, if the clock stops in `left` seconds: those that
/// `retention` later runs will have followed by then. The number of backups and their price must already equal
/// those of the later runs, or the bill would differ.
fn count_skippable_runs(world: &World, id: Uuid, schedule: &BackupSchedule, disk: i64, left: i64) -> i64 {
    let runs = left / schedule.period_secs() + 1;
    if runs <= schedule.retention {
        return 0;
    }
    let same = |backup: &Backup| backup.storage_size == disk && backup.billing == Billing::Payg;
    let mut kept = 0;
    for backup in world.backups.index().of_schedule(id).filter_map(|id| world.backups.get(id)) {
        if !same(&backup.body) {
            return 0;
        }
        kept += 1;
    }
    if kept == schedule.retention { runs - schedule.retention } else { 0 }
}

/// Removes a schedule's oldest backups until `retention` of them are left.
fn remove_oldest_backups(world: &mut World, id: Uuid, retention: i64) {
    let kept: Vec<_> = world.backups.index().of_schedule(id).collect();
    let most = usize::try_from(retention).unwrap_or_default();
    for backup in kept.iter().take(kept.len().saturating_sub(most)) {
        world.backups.remove(*backup);
    }
}

/// The fields of a body that set the time of the runs and the retention; `None` for those that the body omits.
struct ScheduleFields {
    frequency: Option<Frequency>,
    day_of_week: Option<i8>,
    hour: Option<i8>,
    retention: Option<i64>,
    enabled: Option<bool>,
}

fn read_schedule_fields(call: &Call<'_>) -> Result<ScheduleFields, ErrorResponse> {
    let small = |number: i64| i8::try_from(number).unwrap_or_default();
    let frequency = call.body.optional_field("frequency", |field| field.one_of(&["daily", "weekly"]))?;
    Ok(ScheduleFields {
        frequency: frequency.map(|word| if word == "daily" { Frequency::Daily } else { Frequency::Weekly }),
        day_of_week: call.body.optional_field("day_of_week", |field| field.integer(0, 6).map(small))?,
        hour: call.body.optional_field("hour", |field| field.integer(0, 23).map(small))?,
        retention: call.body.optional_field("retention", |field| field.integer(1, 30))?,
        enabled: call.body.optional_field("enabled", BodyField::boolean)?,
    })
}

/// Returns the weekday of a schedule, counted from Sunday, 0: `None` for a daily one, and Sunday by default for a
/// weekly one. A weekday for a daily schedule is refused.
fn resolve_day(
    frequency: Frequency,
    wanted: Option<i8>,
    current: Option<i8>,
) -> Result<Option<i8>, ErrorResponse> {
    match frequency {
        Frequency::Daily if wanted.is_some() => Err(ErrorResponse::bad_request(
            "day_of_week is for weekly schedules only: leave it out, or set frequency to weekly",
        )),
        Frequency::Daily => Ok(None),
        Frequency::Weekly => Ok(wanted.or(current).or(Some(0))),
    }
}

fn create_backup_schedule(call: &mut Call<'_>) -> Reply {
    let vm_id = call.body.required_field("vm_id", BodyField::uuid)?;
    let wish = read_schedule_fields(call)?;
    let frequency = wish.frequency.ok_or_else(|| ErrorResponse::bad_request("frequency is required"))?;
    let day_of_week = resolve_day(frequency, wish.day_of_week, None)?;
    require_stable_vm(call.find_by_id::<Vm>(vm_id)?.status(call.now))?;
    reject_duplicate_frequency(call, vm_id, frequency, None)?;
    let body = BackupSchedule {
        vm_id,
        frequency,
        day_of_week,
        hour: wish.hour.unwrap_or(3),
        retention: wish.retention.unwrap_or(7),
        enabled: wish.enabled.unwrap_or(true),
        made: 0,
        last_run: None,
    };
    let (now, project) = (call.now, call.project_id());
    let id = call.world.create_record(Some(project), now, Timeline::with_status(now, "active"), body);
    call.record_response::<BackupSchedule>(201, id, "backup schedule created")
}

fn reject_duplicate_frequency(
    call: &Call<'_>,
    vm: Uuid,
    frequency: Frequency,
    except: Option<Uuid>,
) -> Result<(), ErrorResponse> {
    if call.world.backup_schedules.index().is_frequency_taken(vm, frequency, except) {
        return Err(ErrorResponse::conflict("the VM has a schedule of this frequency already"));
    }
    Ok(())
}

fn read_backup_schedule(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<BackupSchedule>()?.id;
    call.record_response::<BackupSchedule>(200, id, "")
}

fn update_backup_schedule(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<BackupSchedule>()?;
    let (id, mut body) = (record.id, record.body.clone());
    let wish = read_schedule_fields(call)?;
    body.frequency = wish.frequency.unwrap_or(body.frequency);
    body.day_of_week = resolve_day(body.frequency, wish.day_of_week, body.day_of_week)?;
    body.hour = wish.hour.unwrap_or(body.hour);
    body.retention = wish.retention.unwrap_or(body.retention);
    body.enabled = wish.enabled.unwrap_or(body.enabled);
    reject_duplicate_frequency(call, body.vm_id, body.frequency, Some(id))?;
    call.update::<BackupSchedule>(id, |record| record.body = body);
    call.record_response::<BackupSchedule>(200, id, "backup schedule updated")
}

fn delete_backup_schedule(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<BackupSchedule>()?.id;
    call.world.backup_schedules.remove(id);
    Ok(message_response("backup schedule deleted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_is_the_first_matching_time() {
        let schedule = |day_of_week, hour| BackupSchedule {
            vm_id: Uuid::nil(),
            frequency: Frequency::Daily,
            day_of_week,
            hour,
            retention: 7,
            enabled: true,
            made: 0,
            last_run: None,
        };
        // 4 March 2026 is a Wednesday.
        let now: Time = "2026-03-04T03:00:00Z".parse().unwrap();
        for (day, hour, wanted) in [
            (None, 3, "2026-03-05T03:00:00Z"),
            (None, 4, "2026-03-04T04:00:00Z"),
            (Some(0), 3, "2026-03-08T03:00:00Z"),
            (Some(3), 4, "2026-03-04T04:00:00Z"),
            (Some(3), 3, "2026-03-11T03:00:00Z"),
        ] {
            assert_eq!(schedule(day, hour).next_run(now).unwrap().to_string(), wanted);
        }
        let off = BackupSchedule { enabled: false, ..schedule(None, 3) };
        assert_eq!(off.next_run(now), None);
    }
}
