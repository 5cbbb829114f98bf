//! `app_domain`: custom domains of an app. A domain belongs to one app of the account ("Errors", 409).

use uuid::Uuid;

use super::app::{find_app, find_settled_app, find_undeleted_app};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{App, app_host_name};
use crate::emulator::world::records::app_parts::AppDomain;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/apps/services/{id}/domains";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_app_domains),
    Route::new(Method::Post, COLLECTION, Access::Project, create_app_domain),
    Route::new(
        Method::Delete,
        "/api/v1/apps/services/{id}/domains/{domain}",
        Access::Project,
        delete_app_domain,
    ),
];

/// Statuses of a domain, by seconds: the emulator always finds the DNS record correct.
const STEPS: &[(i64, &str)] = &[(0, "pending"), (10, "active")];
const MAX_DOMAIN_CHARS: usize = 253;

impl Handlers for AppDomain {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let app = view.world.table::<App>().get(record.body.service_id);
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &record.body.service_id);
        fields.write_field("project_id", &record.project);
        fields.write_field("domain", &record.body.domain);
        fields.write_field("status", record.status(view.now));
        fields.write_field("dns_target", &app.map(app_host_name).unwrap_or_default());
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Refuses a string that is not a domain name of at least two labels; wildcards are refused, too.
fn check_domain(text: &str) -> Result<(), ErrorResponse> {
    let label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        inner && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.split('.').count() >= 2 && text.split('.').all(label) {
        return Ok(());
    }
    Err(ErrorResponse::bad_request(format!("domain {text} is not a domain name such as shop.example.com")))
}

fn list_app_domains(call: &mut Call<'_>) -> Reply {
    let id = find_app(call)?.id;
    call.list_children::<AppDomain>(id)
}

fn create_app_domain(call: &mut Call<'_>) -> Reply {
    let record = find_settled_app(call)?;
    let (app, project) = (record.id, record.project);
    let domain = call.body.required_field("domain", |field| field.text(4, MAX_DOMAIN_CHARS))?.to_owned();
    check_domain(&domain)?;
    if call.world.app_domains.index().names.contains_key(&domain.to_ascii_lowercase()) {
        return Err(ErrorResponse::conflict(format!("the domain {domain} is already taken")));
    }
    let now = call.now;
    let body = AppDomain { service_id: app, domain };
    let id = call.world.create_record(project, now, Timeline::new(now, STEPS), body);
    call.record_response::<AppDomain>(201, id, "domain added")
}

fn delete_app_domain(call: &mut Call<'_>) -> Reply {
    let app = find_undeleted_app(call)?.id;
    let id = Uuid::try_parse(call.param(1)).ok();
    let found = id.and_then(|id| call.world.app_domains.get(id));
    let found = found.filter(|record| record.body.service_id == app);
    let id = found.ok_or_else(|| ErrorResponse::not_found("domain"))?.id;
    call.world.app_domains.remove(id);
    Ok(message_response("domain removed"))
}
