//! `spend_settings`: the monthly cap on the cost of apps, and the action when it is reached.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::emulator::world::apps::app::App;
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::monthly_meter::next_month;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::request::call::{Call, Reply, success_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext, ScheduledEvent};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::emulator::world::{ApiResponse, Time};
use crate::model::schema::Method;

const PATH: &str = "/api/v1/apps/spend-settings";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, PATH, Access::Account, |call| Ok(spend_settings_response(call, ""))),
    Route::new(Method::Patch, PATH, Access::Account, update_spend_settings),
];

/// The account's cap. There is at most one record, and none before the first change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct SpendSettings {
    pub(in crate::emulator::world) enabled: bool,
    pub(in crate::emulator::world) monthly_cap_usd: Option<Decimal>,
    pub(in crate::emulator::world) cap_action: CapAction,
    pub(in crate::emulator::world) paused_by_cap: bool,
}

/// The action when the cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::emulator::world) enum CapAction {
    NotifyOnly,
    Pause,
}

const DEFAULT_SETTINGS: SpendSettings = SpendSettings {
    enabled: false,
    monthly_cap_usd: None,
    cap_action: CapAction::NotifyOnly,
    paused_by_cap: false,
};

/// Percentages of the cap at which the owners get a notice.
const NOTICE_PERCENTS: [u8; 3] = [100, 90, 75];

/// Returns the highest notice threshold, in percent, that a spend has reached.
pub(in crate::emulator::world) fn reached_notice(spend: Decimal, cap: Decimal) -> Option<u8> {
    NOTICE_PERCENTS
        .into_iter()
        .find(|percent| spend * Decimal::ONE_HUNDRED >= cap * Decimal::from(*percent))
}

impl SpendSettings {
    /// Returns the amount that the notices refer to, if the cap is enabled.
    pub(in crate::emulator::world) fn notice_cap(&self) -> Option<Decimal> {
        self.monthly_cap_usd.filter(|_| self.enabled)
    }

    /// Returns the amount at which apps are paused, if the cap pauses them.
    fn pause_cap(&self) -> Option<Decimal> {
        self.monthly_cap_usd.filter(|_| self.enabled && self.cap_action == CapAction::Pause)
    }
}

impl RecordKind for SpendSettings {
    const KIND: &'static str = "spend_settings";
    const TITLE: &'static str = "spend settings";
    const IS_OBJECT: bool = false;
    type Index = ();

    fn index((): &mut (), _record: &TableRecord<Self>, _present: bool) {}
}

impl Handlers for SpendSettings {
    fn show(record: &TableRecord<Self>, _view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        write_spend_settings(&record.body, fields);
    }
}

fn write_spend_settings(settings: &SpendSettings, fields: &mut JsonObjectWriter<'_>) {
    fields.write_field("enabled", &settings.enabled);
    match settings.monthly_cap_usd {
        Some(cap) => fields.write_number("monthly_cap_usd", cap),
        None => fields.write_field("monthly_cap_usd", &None::<i64>),
    }
    fields.write_field("cap_action", &settings.cap_action);
    fields.write_field("paused_by_cap", &settings.paused_by_cap);
}

/// Returns when the cap is reached next, or when the start of a month lifts the pause.
pub(in crate::emulator::world) fn next_spend_event(world: &World) -> Option<ScheduledEvent> {
    let settings = world.current_spend_settings();
    let rate = world.apps.hourly_rate();
    let reached = settings.pause_cap().filter(|_| !settings.paused_by_cap);
    let reached = reached.and_then(|cap| world.account.app_spend.limit_reached_at(cap, rate));
    let matters = settings.paused_by_cap || (settings.pause_cap().is_some() && !rate.is_zero());
    // At the end of time there is no next month.
    let month = matters.then(|| next_month(world.account.latest)).filter(|at| *at > world.account.latest);
    let at = reached.into_iter().chain(month).min()?.max(world.account.latest);
    Some(ScheduledEvent { at, id: Uuid::nil(), happen: |world, _, at, _| world.apply_cap(at) })
}

impl World {
    /// Returns the current settings, or the defaults.
    pub(in crate::emulator::world) fn current_spend_settings(&self) -> &SpendSettings {
        self.spend_settings.iter().next().map_or(&DEFAULT_SETTINGS, |record| &record.body)
    }

    /// Returns the id of the settings record; creates the record if it is missing.
    pub(in crate::emulator::world) fn spend_record(&mut self, now: Time) -> Uuid {
        let known = self.spend_settings.iter().next().map(|record| record.id);
        known.unwrap_or_else(|| {
            self.create_record(None, now, Timeline::with_status(now, "active"), DEFAULT_SETTINGS)
        })
    }

    /// Pauses or resumes the apps, depending on the month's spend and the settings.
    fn apply_cap(&mut self, now: Time) {
        let settings = self.current_spend_settings();
        let reached =
            settings.pause_cap().is_some_and(|cap| self.account.app_spend.current_amount() >= cap);
        if reached == settings.paused_by_cap {
            return;
        }
        let Some(id) = self.spend_settings.iter().next().map(|record| record.id) else { return };
        self.spend_settings.amend(id, |record| record.body.paused_by_cap = reached);
        let affected = |record: &&TableRecord<App>| {
            let payg = record.body.billing == Billing::Payg;
            if reached { payg && record.is_up() } else { record.body.paused_by_cap }
        };
        let apps: Vec<_> = self.apps.iter().filter(affected).map(|record| record.id).collect();
        for app in apps {
            if reached {
                self.pause_by_cap(app, now);
                self.note_event(app, now, "app.paused", "the monthly spend cap is reached");
            } else {
                self.resume_app(app, now);
                self.note_event(app, now, "app.resumed", "the monthly spend cap does not hold any more");
            }
        }
    }

    fn pause_by_cap(&mut self, app: Uuid, now: Time) {
        self.apps.update(app, now, |record| {
            record.update_meters(now);
            record.timeline = Timeline::with_status(now, "paused");
            record.body.paused_by_cap = true;
            record.body.next_run_at = None;
        });
    }
}

impl Call<'_> {
    /// Refuses a change that raises an app's cost while the cap has paused the apps.
    pub(in crate::emulator::world) fn not_capped(
        &self,
        billing: &Billing,
        verb: &str,
    ) -> Result<(), ErrorResponse> {
        if *billing != Billing::Payg || !self.world.current_spend_settings().paused_by_cap {
            return Ok(());
        }
        Err(ErrorResponse::new(
            412,
            "Precondition Failed",
            format!(
                "pay-as-you-go apps are paused by the monthly spend cap, and none can be {verb} until the \
                 cap is raised or turned off, or a new month starts"
            ),
        ))
    }
}

fn spend_settings_response(call: &Call<'_>, message: &str) -> ApiResponse {
    success_response(200, message, |fields| {
        fields.write_object("settings", |fields| {
            write_spend_settings(call.world.current_spend_settings(), fields);
        });
    })
}

fn update_spend_settings(call: &mut Call<'_>) -> Reply {
    let mut settings = call.world.current_spend_settings().clone();
    let body = &call.body;
    settings.enabled = body.optional_field("enabled", BodyField::boolean)?.unwrap_or(settings.enabled);
    let cap = body.optional_field("monthly_cap_usd", |field| field.decimal(Decimal::ONE))?;
    settings.monthly_cap_usd = cap.or(settings.monthly_cap_usd);
    settings.cap_action =
        match body.optional_field("cap_action", |field| field.one_of(&["notify_only", "pause"]))? {
            Some("pause") => CapAction::Pause,
            Some(_) => CapAction::NotifyOnly,
            None => settings.cap_action,
        };
    let now = call.now;
    let id = call.world.spend_record(now);
    call.update::<SpendSettings>(id, |record| record.body = settings);
    call.world.apply_cap(now);
    Ok(spend_settings_response(call, "spend settings updated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_get_notifications_before_the_cap_is_reached() {
        for (cents, wanted) in [
            (0, None),
            (7_499, None),
            (7_500, Some(75)),
            (8_999, Some(75)),
            (9_000, Some(90)),
            (10_000, Some(100)),
            (20_000, Some(100)),
        ] {
            assert_eq!(reached_notice(Decimal::new(cents, 2), Decimal::ONE_HUNDRED), wanted, "{cents}");
        }
    }
}
