//! Checks of the account: whether the service accepts the key, its permissions, its expiry, and the service's clock.
//! All of them come from one read of the account, so all are skipped if it fails.

use jiff::{SignedDuration, Timestamp};

use super::failure_text::failure_and_remedy;
use crate::cli::command_context::CommandContext;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::service::api_key;
use crate::cli::service::connection::ServiceConnection;
use crate::cloud::read::account::{AccountInfo, ApiKeyRecord};
use crate::model::clock::Clock;
use crate::model::values::secret::Secret;
use crate::report::views::doctor::DoctorCheck;

/// Remaining lifetime below which a key causes a warning.
const KEY_EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Largest clock difference, in seconds, that causes no warning.
const MAX_CLOCK_SKEW_SECS: i64 = 60;

/// Largest clock difference, in seconds, that shared backends accept for signed requests; a larger one fails the check.
const SIGNED_REQUEST_SKEW_SECS: i64 = 15 * 60;

/// Slugs of the account roles with all permissions.
const UNRESTRICTED_ROLES: &[&str] = &["owner", "admin"];

/// Runs the checks that need the service. `link` is `None` if there is no connection, `key` if it is the built-in one.
pub(super) async fn check_account(
    session: &CommandContext,
    link: Option<&ServiceConnection>,
    key: Option<&Secret>,
) -> Vec<DoctorCheck> {
    let Some(link) = link else {
        let skipped =
            |name| DoctorCheck::new_skipped(name, "Not checked: there is no connection to the service.");
        return ["access", "key expiry", "powers", "clock"].map(skipped).to_vec();
    };
    let text = key.and_then(Secret::expose).unwrap_or_default();
    let account = match link.client.read_account(text).await {
        Ok(account) => account,
        Err(error) => {
            let (detail, remedy) = failure_and_remedy(&CliFailure::from(error));
            let skipped = |name| DoctorCheck::new_skipped(name, "The service sent an unexpected response.");
            let mut checks = vec![DoctorCheck::new_failed("access", detail).with_remedy(remedy)];
            checks.extend(["key expiry", "powers", "clock"].map(skipped));
            return checks;
        }
    };
    let now = link.client.clock().now();
    let local = session.settings.cloud == CloudEndpoint::Local;
    // The speed of an emulator's clock is configurable.
    let here = local
        || matches!(&session.settings.cloud, CloudEndpoint::Remote(url) if url.starts_with("http://"));
    let clock = match link.client.skew().await {
        _ if here => DoctorCheck::new_skipped("clock", "The clock of a local emulator is not compared."),
        Ok(skew) => check_clock(skew),
        Err(error) => {
            DoctorCheck::new_skipped("clock", super::failure_text::to_sentence(&error.to_string()))
        }
    };
    let separate = session.settings.readonly_key.is_some();
    vec![
        check_access(&account),
        check_key_expiry(account.key.as_ref(), now, local),
        check_permissions(account.key.as_ref(), separate, local),
        clock,
    ]
}

/// Checks that the service accepts the key and that the key is active; reports its account.
fn check_access(account: &AccountInfo) -> DoctorCheck {
    let record = account.key.clone().unwrap_or_default();
    if record.active == Some(false) {
        return DoctorCheck::new_failed(
            "access",
            "The service accepts the key, but reports that it is not active.",
        )
        .with_remedy("stead login");
    }
    let named = |what: &str, text: Option<String>| text.map(|text| format!("{what} {text}"));
    let facts = [
        named("key", record.name),
        named("account", record.account),
        record.role.map(|role| format!("role {role}")),
        named("scope", record.scope),
        named("tier", record.tier),
        Some(format!("{} requests a second", account.rate)),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    DoctorCheck::new_ok("access", format!("The service accepts the key: {}.", facts.join(", ")))
}

/// Checks the expiry of the key. `key` is `None` if the service does not show its record.
fn check_key_expiry(key: Option<&ApiKeyRecord>, now: Timestamp, local: bool) -> DoctorCheck {
    const NAME: &str = "key expiry";
    let Some(key) = key else {
        let why = if local {
            "The built-in cloud's key does not expire."
        } else {
            "The service does not show the key's record."
        };
        return DoctorCheck::new_skipped(NAME, why);
    };
    let Some(text) = &key.expires_at else { return DoctorCheck::new_ok(NAME, "The key does not expire.") };
    let renew = "Make a new key, then: stead login";
    let Ok(ends) = text.parse::<Timestamp>() else {
        return DoctorCheck::new_warning(
            NAME,
            format!("The key expires at {text}, which is not a valid timestamp."),
        );
    };
    let left = ends.duration_since(now);
    let days = left.as_hours() / 24;
    if left <= SignedDuration::ZERO {
        DoctorCheck::new_failed(NAME, format!("The key expired at {text}.")).with_remedy(renew)
    } else if left < KEY_EXPIRY_WARNING {
        DoctorCheck::new_warning(NAME, format!("The key expires in {days} days, at {text}."))
            .with_remedy(renew)
    } else {
        DoctorCheck::new_ok(NAME, format!("The key expires in {days} days, at {text}."))
    }
}

/// Checks the permissions of the key. `separate` states whether untrusted plans have a read-only key of their own.
fn check_permissions(key: Option<&ApiKeyRecord>, separate: bool, local: bool) -> DoctorCheck {
    const NAME: &str = "powers";
    let Some(key) = key else {
        let why = if local {
            "The built-in cloud's key may do everything."
        } else {
            "The service does not show the key's record."
        };
        return DoctorCheck::new_skipped(NAME, why);
    };
    let role = key.role.as_deref().or(key.role_slug.as_deref()).unwrap_or("none");
    let projects = key.projects.as_deref().map(api_key::format_project_roles);
    let projects = projects.as_deref().unwrap_or("the service does not show them");
    let seen = format!("Account role: {role}. Project roles: {projects}.");
    let broad = key.role_slug.as_deref().is_some_and(|slug| UNRESTRICTED_ROLES.contains(&slug));
    match (broad, separate) {
        (true, false) => DoctorCheck::new_warning(NAME, seen).with_remedy(
            "Plan with a key that can only read (STEAD_READONLY_API_KEY), and apply with one that has only the permissions that the stack needs.",
        ),
        (true, true) => DoctorCheck::new_ok(NAME, format!("{seen} Untrusted plans use STEAD_READONLY_API_KEY.")),
        (false, _) => DoctorCheck::new_ok(NAME, seen),
    }
}

/// Checks the clock of this machine. `skew` is in seconds, positive if this machine is ahead; `None` if the service
/// does not report its time.
fn check_clock(skew: Option<i64>) -> DoctorCheck {
    const NAME: &str = "clock";
    let Some(skew) = skew else {
        return DoctorCheck::new_skipped(NAME, "The service does not report its time.");
    };
    let off = skew.unsigned_abs();
    let side = if skew > 0 { "ahead of" } else { "behind" };
    let detail = format!("This machine is {off} s {side} the service.");
    let remedy = "Synchronize the machine's clock (NTP); no decision depends on it, but times in histories and signatures do.";
    match skew.abs() {
        0..=2 => DoctorCheck::new_ok(NAME, "This machine and the service have the same time."),
        3..=MAX_CLOCK_SKEW_SECS => DoctorCheck::new_ok(NAME, detail),
        off if off <= SIGNED_REQUEST_SKEW_SECS => {
            DoctorCheck::new_warning(NAME, detail).with_remedy(remedy)
        }
        _ => DoctorCheck::new_failed(NAME, detail).with_remedy(remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::views::doctor::CheckStatus;

    fn key(expires_at: Option<&str>, slug: &str) -> ApiKeyRecord {
        ApiKeyRecord {
            expires_at: expires_at.map(Into::into),
            role_slug: Some(slug.into()),
            projects: Some(vec![("shop".into(), Some("Developer".into())), ("blog".into(), None)]),
            ..ApiKeyRecord::default()
        }
    }

    #[test]
    fn the_expiry_of_a_key_determines_the_check_status() {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        for (ends, wanted) in [
            (None, CheckStatus::Ok),
            (Some("2027-11-21T12:00:00Z"), CheckStatus::Ok),
            (Some("2026-11-24T12:00:00Z"), CheckStatus::Warning),
            (Some("2026-11-21T11:59:59Z"), CheckStatus::Failed),
            (Some("soon"), CheckStatus::Warning),
        ] {
            assert_eq!(check_key_expiry(Some(&key(ends, "")), now, false).verdict, wanted, "{ends:?}");
        }
        assert_eq!(check_key_expiry(None, now, false).verdict, CheckStatus::Skipped);
    }

    #[test]
    fn a_key_with_all_permissions_is_a_warning() {
        let verdict = |slug, separate| check_permissions(Some(&key(None, slug)), separate, false).verdict;
        assert_eq!(verdict("owner", false), CheckStatus::Warning);
        assert_eq!(verdict("admin", true), CheckStatus::Ok);
        assert_eq!(verdict("viewer", false), CheckStatus::Ok);
        let seen = check_permissions(Some(&key(None, "viewer")), false, false).detail;
        assert!(
            seen.contains("Developer in shop, a role in blog that the service does not show"),
            "{seen}"
        );
    }

    #[test]
    fn a_small_clock_difference_is_accepted() {
        for (skew, wanted) in [
            (None, CheckStatus::Skipped),
            (Some(0), CheckStatus::Ok),
            (Some(-60), CheckStatus::Ok),
            (Some(61), CheckStatus::Warning),
            (Some(-901), CheckStatus::Failed),
        ] {
            assert_eq!(check_clock(skew).verdict, wanted, "{skew:?}");
        }
        assert!(check_clock(Some(-90)).detail.contains("90 s behind"));
    }
}
