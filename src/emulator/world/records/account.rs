//! The records of the account: projects, members, roles, invitations, keys and the spend cap.

use std::collections::{BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};

/// An API key. Only its digest is stored, so that no export contains the key itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ApiKey {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) digest: String,
    pub(in crate::emulator::world) key_prefix: String,
    pub(in crate::emulator::world) is_active: bool,
    pub(in crate::emulator::world) rate_limit_tier: RateTier,
    pub(in crate::emulator::world) expires_at: Option<Time>,
    pub(in crate::emulator::world) last_used_at: Option<Time>,
    pub(in crate::emulator::world) role_id: Option<Uuid>,
    pub(in crate::emulator::world) created_by: Uuid,
}

impl ApiKey {
    pub(in crate::emulator::world) fn is_valid(&self, now: Time) -> bool {
        self.is_active && self.expires_at.is_none_or(|end| end > now)
    }
}

/// Index of the keys by digest, and of the roles they have.
#[derive(Default)]
pub(in crate::emulator::world) struct ApiKeyIndex {
    pub(in crate::emulator::world) digests: HashMap<String, Uuid>,
    pub(in crate::emulator::world) roles: RoleUseCounts,
}

impl RecordKind for ApiKey {
    const KIND: &'static str = "api_key";
    const TITLE: &'static str = "API key";
    type Index = ApiKeyIndex;

    fn index(index: &mut ApiKeyIndex, record: &TableRecord<Self>, present: bool) {
        if let Some(role) = record.body.role_id {
            index.roles.count_use(role, present);
        }
        if present {
            index.digests.insert(record.body.digest.clone(), record.id);
        } else {
            index.digests.remove(&record.body.digest);
        }
    }
}

/// An invitation of a person to the account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Invitation {
    pub(in crate::emulator::world) email: String,
    pub(in crate::emulator::world) role_id: Uuid,
}

pub(in crate::emulator::world) fn is_invitation_accepted(record: &TableRecord<Invitation>) -> bool {
    record.status(Time::MAX) == "accepted"
}

/// Index of the invitations by lower-case email address, of the accepted ones by age, and
/// of the roles they grant.
#[derive(Default)]
pub(in crate::emulator::world) struct InvitationIndex {
    pub(in crate::emulator::world) emails: HashMap<String, BTreeSet<(Time, Uuid)>>,
    pub(in crate::emulator::world) accepted: BTreeSet<(Time, Uuid)>,
    pub(in crate::emulator::world) roles: RoleUseCounts,
}

impl RecordKind for Invitation {
    const KIND: &'static str = "invitation";
    const TITLE: &'static str = "invitation";
    type Index = InvitationIndex;

    fn index(index: &mut InvitationIndex, record: &TableRecord<Self>, present: bool) {
        index.roles.count_use(record.body.role_id, present);
        let place = (record.created_at, record.id);
        let same = index.emails.entry(record.body.email.to_lowercase()).or_default();
        if present {
            same.insert(place);
            if is_invitation_accepted(record) {
                index.accepted.insert(place);
            }
            return;
        }
        index.accepted.remove(&place);
        same.remove(&place);
        if same.is_empty() {
            index.emails.remove(&record.body.email.to_lowercase());
        }
    }
}

/// A project of the account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Project {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) description: String,
    pub(in crate::emulator::world) is_default: bool,
}

impl Project {
    pub(in crate::emulator::world) fn default_of_account() -> Self {
        Self { name: "default".to_owned(), description: String::new(), is_default: true }
    }
}

impl RecordKind for Project {
    const KIND: &'static str = "project";
    const TITLE: &'static str = "project";
    type Index = ();

    fn index((): &mut (), _: &TableRecord<Self>, _: bool) {}
}

/// The key or person that a membership is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type", content = "id")]
pub(in crate::emulator::world) enum Subject {
    ApiKey(Uuid),
    Member(Uuid),
}

impl Subject {
    pub(in crate::emulator::world) fn id(self) -> Uuid {
        match self {
            Self::ApiKey(id) | Self::Member(id) => id,
        }
    }
}

/// A membership: the role of a key or a person in one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ProjectMember {
    pub(in crate::emulator::world) subject: Subject,
    pub(in crate::emulator::world) role_id: Uuid,
}

/// Index of the memberships by key and person, and of their roles.
#[derive(Default)]
pub(in crate::emulator::world) struct MembershipIndex {
    pub(in crate::emulator::world) subjects: BTreeSet<(Uuid, Uuid)>,
    pub(in crate::emulator::world) roles: RoleUseCounts,
}

impl MembershipIndex {
    pub(in crate::emulator::world) fn of_subject(&self, subject: Uuid) -> impl Iterator<Item = Uuid> {
        self.subjects.range((subject, Uuid::nil())..=(subject, Uuid::max())).map(|(_, member)| *member)
    }
}

impl RecordKind for ProjectMember {
    const KIND: &'static str = "project_member";
    const TITLE: &'static str = "project member";
    type Index = MembershipIndex;

    fn index(index: &mut MembershipIndex, record: &TableRecord<Self>, present: bool) {
        let key = (record.body.subject.id(), record.id);
        index.roles.count_use(record.body.role_id, present);
        if present {
            index.subjects.insert(key);
        } else {
            index.subjects.remove(&key);
        }
    }
}

/// A custom role: a named set of permissions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Role {
    pub(in crate::emulator::world) name: String,
    /// Derived from the name at creation; unchanged when the name changes.
    pub(in crate::emulator::world) slug: String,
    pub(in crate::emulator::world) permissions: Vec<String>,
}

/// Index: how many records have each role.
#[derive(Default)]
pub(in crate::emulator::world) struct RoleUseCounts(pub(in crate::emulator::world) HashMap<Uuid, usize>);

impl RoleUseCounts {
    pub(in crate::emulator::world) fn count_use(&mut self, role: Uuid, present: bool) {
        let count = self.0.entry(role).or_default();
        *count = if present { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.0.remove(&role);
        }
    }

    pub(in crate::emulator::world) fn is_used(&self, role: Uuid) -> bool {
        self.0.contains_key(&role)
    }
}

/// Index of the custom roles by slug.
#[derive(Default)]
pub(in crate::emulator::world) struct RoleIndex(pub(in crate::emulator::world) HashMap<String, Uuid>);

impl RecordKind for Role {
    const KIND: &'static str = "role";
    const TITLE: &'static str = "role";
    type Index = RoleIndex;

    fn index(index: &mut RoleIndex, record: &TableRecord<Self>, present: bool) {
        if present {
            index.0.insert(record.body.slug.clone(), record.id);
        } else {
            index.0.remove(&record.body.slug);
        }
    }
}

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

pub(in crate::emulator::world) const DEFAULT_SETTINGS: SpendSettings = SpendSettings {
    enabled: false,
    monthly_cap_usd: None,
    cap_action: CapAction::NotifyOnly,
    paused_by_cap: false,
};

/// Percentages of the cap at which the owners get a notice.
pub(in crate::emulator::world) const NOTICE_PERCENTS: [u8; 3] = [100, 90, 75];

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
    pub(in crate::emulator::world) fn pause_cap(&self) -> Option<Decimal> {
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct SshKey {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) public_key: String,
    pub(in crate::emulator::world) fingerprint: String,
}

impl RecordKind for SshKey {
    const KIND: &'static str = "ssh_key";
    const TITLE: &'static str = "SSH key";
    type Index = ();

    fn index((): &mut (), _: &TableRecord<Self>, _: bool) {}
}

/// The rate limit of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateTier {
    /// 30 requests per second, and a burst of 60 more per minute.
    Standard,
    /// 100 requests per second, and a burst of 200 more per minute.
    High,
}

impl RateTier {
    /// Returns `(requests per second, burst per minute)`.
    #[must_use]
    pub fn bounds(self) -> (usize, usize) {
        match self {
            Self::Standard => (30, 60),
            Self::High => (100, 200),
        }
    }
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
