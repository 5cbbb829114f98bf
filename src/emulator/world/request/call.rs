//! `Call`: a request after routing and access control, with the state that a handler needs to answer it.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::handlers::{Handlers, RenderContext};
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{BILLING_TYPES, Billing, HOUR};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::{ApiResponse, ErrorResponse};
use crate::emulator::world::engine::money::{self, MONTH_HOURS};
use crate::emulator::world::engine::request_body::RequestBody as Input;
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::{ChildKind, TableRecord};
use crate::emulator::world::state::grant::{AccessGrant, RequestScope};
use crate::emulator::world::state::permission::Permission;
use crate::emulator::world::state::world::{StoredKind, World};

/// A request while a handler processes it. The route's permission is granted; objects are checked when they are found.
pub(in crate::emulator::world) struct Call<'a> {
    pub(in crate::emulator::world) world: &'a mut World,
    pub(in crate::emulator::world) now: Time,
    pub(in crate::emulator::world) scope: RequestScope,
    pub(in crate::emulator::world) grant: AccessGrant,
    /// The permission that the route requires; `None` if any key is sufficient.
    pub(in crate::emulator::world) need: Option<Permission>,
    /// Variable segments of the path, in order, still percent-encoded.
    pub(in crate::emulator::world) params: Vec<&'a str>,
    pub(in crate::emulator::world) query: &'a [(String, String)],
    pub(in crate::emulator::world) body: Input,
}

/// The result of a handler: a response, or the refusal that becomes one.
pub(in crate::emulator::world) type Reply = Result<ApiResponse, ErrorResponse>;

/// Page size without `limit` ("Limits").
const DEFAULT_PAGE: usize = 20;
/// A larger `limit` counts as this. The maximum is assumed: the specification does not show it.
const LARGEST_PAGE: usize = 100;

impl Call<'_> {
    /// Returns a variable segment of the path, counted from 0; empty if the route has fewer.
    pub(in crate::emulator::world) fn param(&self, index: usize) -> &str {
        self.params.get(index).copied().unwrap_or_default()
    }

    /// Returns the project that a change applies to: that of the header, else the account's default project.
    pub(in crate::emulator::world) fn project_id(&self) -> Uuid {
        match self.scope {
            RequestScope::Project(id) => id,
            RequestScope::Unspecified | RequestScope::UnknownProject => self.world.default_project(),
        }
    }

    /// Returns the id of the caller: its API key, or the account for the first key.
    pub(in crate::emulator::world) fn caller_id(&self) -> Uuid {
        match self.grant {
            AccessGrant::Unrestricted => self.world.account.id,
            AccessGrant::Key { id, .. } => id,
        }
    }

    /// Refuses a caller that lacks an additional permission in the request's project; an unknown name needs nothing.
    pub(in crate::emulator::world) fn also_needs(&self, permission: &str) -> Result<(), ErrorResponse> {
        match Permission::from_name(permission) {
            Some(need) => self.grant.require_permission(need, self.project_id(), "project"),
            None => Ok(()),
        }
    }

    /// Finds the object whose id is the path's first variable segment; "not found" for those
    /// outside the request's scope.
    pub(in crate::emulator::world) fn find_by_path<T: StoredKind>(
        &self,
    ) -> Result<&TableRecord<T>, ErrorResponse> {
        let id = Uuid::try_parse(self.param(0)).ok();
        let found = id.and_then(|id| self.world.table::<T>().get(id));
        self.require_visible(found)
    }

    /// Returns "not found" for an object of a project other than the header's, or of a project that the
    /// caller has no permissions in.
    pub(in crate::emulator::world) fn require_visible<'r, T: StoredKind>(
        &self,
        found: Option<&'r TableRecord<T>>,
    ) -> Result<&'r TableRecord<T>, ErrorResponse> {
        let record = found.ok_or_else(|| ErrorResponse::not_found(T::TITLE))?;
        match (self.scope, record.project) {
            (RequestScope::Project(wanted), Some(project)) if wanted != project => {
                Err(ErrorResponse::not_found(T::TITLE))
            }
            (_, Some(project)) => match self.need {
                Some(need) => self.grant.require_permission(need, project, T::TITLE).map(|()| record),
                None => Ok(record),
            },
            _ => Ok(record),
        }
    }

    /// Finds an object that the body refers to; "not found" for those of projects that the caller
    /// has no permissions in.
    pub(in crate::emulator::world) fn find_by_id<T: StoredKind>(
        &self,
        id: Uuid,
    ) -> Result<&TableRecord<T>, ErrorResponse> {
        let found = self.world.table::<T>().get(id);
        let known = |project| !self.grant.permissions_in_project(project).is_empty();
        found
            .filter(|record| record.project.is_none_or(known))
            .ok_or_else(|| ErrorResponse::not_found(T::TITLE))
    }

    /// Changes a record, with this request's time as its modification time.
    pub(in crate::emulator::world) fn update<T: StoredKind>(
        &mut self,
        id: Uuid,
        change: impl FnOnce(&mut TableRecord<T>),
    ) {
        let now = self.now;
        self.world.table_mut::<T>().update(id, now, change);
    }

    /// Returns the response `{success, data, message}` with one record; "not found" if it is missing.
    pub(in crate::emulator::world) fn record_response<T: Handlers>(
        &self,
        status: u16,
        id: Uuid,
        message: &str,
    ) -> Reply {
        self.show_as::<T>("data", status, id, message)
    }

    /// Returns the response `{success, KEY, message}` with one record under `key`; "not found" if it is missing.
    /// Databases, runs and settings use another key than `data` ("Conventions").
    pub(in crate::emulator::world) fn show_as<T: Handlers>(
        &self,
        key: &str,
        status: u16,
        id: Uuid,
        message: &str,
    ) -> Reply {
        let record = self.world.table::<T>().get(id).ok_or_else(|| ErrorResponse::not_found(T::TITLE))?;
        let view = RenderContext { world: self.world, now: self.now, detail: true };
        Ok(success_response(status, message, |fields| {
            fields.write_object(key, |inner| T::show(record, view, inner));
        }))
    }

    /// Returns `(offset, limit)` from the query, with the defaults of "Limits"; other values than numbers are refused.
    pub(in crate::emulator::world) fn page_bounds(&self) -> Result<(usize, usize), ErrorResponse> {
        let number = |name: &str, least: usize, default: usize| {
            let Some((_, text)) = self.query.iter().find(|(key, _)| key == name) else {
                return Ok(default);
            };
            match text.parse() {
                Ok(number) if number >= least => Ok(number),
                _ => Err(ErrorResponse::bad_request(format!(
                    "{name} must be a whole number of at least {least}"
                ))),
            }
        };
        Ok((number("offset", 0, 0)?, number("limit", 1, DEFAULT_PAGE)?.min(LARGEST_PAGE)))
    }

    /// Returns a page of records, youngest first: those of the header's project, or without the header those of all
    /// projects that the caller may read. The order is assumed.
    pub(in crate::emulator::world) fn list_records<T: Handlers>(&self) -> Reply {
        let (offset, limit) = self.page_bounds()?;
        let table = self.world.table::<T>();
        let project = match self.scope {
            RequestScope::Unspecified => None,
            RequestScope::Project(id) => Some(id),
            // No record has the nil id as its project: the list is empty, as for a project without objects.
            RequestScope::UnknownProject => Some(Uuid::nil()),
        };
        let view = RenderContext { world: self.world, now: self.now, detail: false };
        if let (RequestScope::Unspecified, Some(need), Some(theirs)) =
            (self.scope, self.need, self.grant.visible_projects())
            && need.of_projects()
        {
            let theirs = theirs.iter().filter(|(_, held)| held.holds(need));
            let projects: Vec<_> = theirs.map(|(project, _)| *project).collect();
            let total = projects.iter().map(|project| table.len(Some(*project))).sum();
            let page = table.merged_page(&projects, offset, limit);
            return Ok(list_response(total, page, |fields, record| T::show(record, view, fields)));
        }
        let page = table.page(project, offset, limit);
        Ok(list_response(table.len(project), page, |fields, record| T::show(record, view, fields)))
    }

    /// Returns a page of items that are not records, in their own order.
    pub(in crate::emulator::world) fn list_of<T>(
        &self,
        items: &[T],
        fill: impl Fn(&mut JsonObjectWriter<'_>, &T),
    ) -> Reply {
        let (offset, limit) = self.page_bounds()?;
        Ok(list_response(items.len(), items.iter().skip(offset).take(limit), fill))
    }

    /// Returns a page of a parent's children, youngest first.
    pub(in crate::emulator::world) fn list_children<T: ChildKind + Handlers>(&self, parent: Uuid) -> Reply {
        let (offset, limit) = self.page_bounds()?;
        let table = self.world.table::<T>();
        let total = T::children(table).child_ids(parent).count();
        let view = RenderContext { world: self.world, now: self.now, detail: false };
        let page = table.children_of(parent).skip(offset).take(limit);
        Ok(list_response(total, page, |fields, record| T::show(record, view, fields)))
    }

    /// Refuses a paid request with 403 if the account failed billing validation ("Errors").
    pub(in crate::emulator::world) fn validate_billing(&self) -> Result<(), ErrorResponse> {
        if !self.world.account.banned {
            return Ok(());
        }
        let message = "billing validation failed: please update the payment method of the account";
        Err(ErrorResponse {
            reason: Some("banned"),
            ..ErrorResponse::new(403, "Billing validation failed", message)
        })
    }

    /// Reads `billing_type`; `payg` if it is absent.
    pub(in crate::emulator::world) fn billing_type(&self) -> Result<&'static str, ErrorResponse> {
        let read = self.body.optional_field("billing_type", |field| field.one_of(BILLING_TYPES))?;
        Ok(read.unwrap_or("payg"))
    }

    /// Starts billing: a subscription's first month, at the price `month`, is charged to the balance, and 402 answers
    /// if that is too low. Hourly billing charges nothing in advance.
    pub(in crate::emulator::world) fn begin_billing(
        &mut self,
        billing_type: &str,
        month: Decimal,
    ) -> Result<Billing, ErrorResponse> {
        if billing_type == "payg" {
            return Ok(Billing::Payg);
        }
        self.withdraw(money::round_to_cents(month))?;
        let paid_until = time_after(self.now, MONTH_HOURS * HOUR);
        Ok(Billing::Subscription { id: self.world.fresh_id(), paid_until })
    }

    /// Charges or credits a change of the monthly price for the rest of the paid month; returns the amount, negative
    /// for a credit, and 0 for hourly billing. Refused with 402 if the balance is too low.
    pub(in crate::emulator::world) fn adjust_billing(
        &mut self,
        billing: Billing,
        old: Decimal,
        new: Decimal,
    ) -> Result<Decimal, ErrorResponse> {
        let amount = money::share_of_month(new - old, billing.hours_left(self.now));
        self.withdraw(amount)?;
        Ok(amount)
    }

    fn withdraw(&mut self, amount: Decimal) -> Result<(), ErrorResponse> {
        let balance = self.world.account.balance;
        if amount > balance {
            return Err(ErrorResponse::payment_required(format!(
                "insufficient balance: {amount:.2} USD are needed and {balance:.2} USD are left"
            )));
        }
        self.world.account.balance = balance - amount;
        Ok(())
    }
}

/// Returns `{success, …, message}`, where `fill` writes the fields between the two.
pub(in crate::emulator::world) fn success_response(
    status: u16,
    message: &str,
    fill: impl FnOnce(&mut JsonObjectWriter<'_>),
) -> ApiResponse {
    let mut body = Vec::with_capacity(1024);
    JsonObjectWriter::write(&mut body, |fields| {
        fields.write_field("success", &true);
        fill(fields);
        fields.write_field("message", message);
    });
    ApiResponse::from_json(status, body)
}

/// Returns a response of the form `{success, message}` with the status 200.
pub(in crate::emulator::world) fn message_response(message: &str) -> ApiResponse {
    success_response(200, message, |_| {})
}

/// Returns a response of the form `{data, total}`; `total` counts the items of all pages.
pub(in crate::emulator::world) fn list_response<T>(
    total: usize,
    page: impl IntoIterator<Item = T>,
    fill: impl Fn(&mut JsonObjectWriter<'_>, T),
) -> ApiResponse {
    let mut body = Vec::with_capacity(4096);
    JsonObjectWriter::write(&mut body, |fields| {
        fields.write_object_array("data", page, fill);
        fields.write_field("total", &total);
    });
    ApiResponse::from_json(200, body)
}
