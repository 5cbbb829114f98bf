//! Every cause for which the service refuses a change, as its specification states it and the contract
//! fills it in, and where each one is met before a call.

/// One cause.
pub struct Cause {
    /// The status that the service answers with.
    pub status: u16,
    /// The cause.
    pub what: &'static str,
    /// Where it stands.
    pub place: &'static str,
    /// How it is met.
    pub found: Found,
}

/// How a cause is met.
#[derive(Clone, Copy)]
pub enum Found {
    /// These files of the corpus are refused, offline or by the plan.
    Before(&'static [&'static str]),
    /// No request is ever sent so.
    Sent(&'static str),
    /// Only an action can meet it; its parameters are checked.
    Asked(&'static str),
    /// Nothing that the service shows tells it in advance.
    Unseen(&'static str),
}

const fn cause(status: u16, what: &'static str, place: &'static str, found: Found) -> Cause {
    Cause { status, what, place, found }
}

use Found::{Asked, Before, Sent, Unseen};

/// All of them.
pub const CAUSES: &[Cause] = &[
    // The numbered cases.
    cause(
        400,
        "no X-Project-ID",
        "spec, Errors 1",
        Sent("Every change of what belongs to a project names it."),
    ),
    cause(400, "a plan of another engine", "spec, Errors 2", Before(&["R0301"])),
    cause(400, "read replicas without support for them", "spec, Errors 2", Before(&["R0302"])),
    cause(400, "high availability on the free plan", "spec, Errors 2", Before(&["R0303"])),
    cause(
        400,
        "a backup on the free plan",
        "spec, Errors 2",
        Sent("The language has no word for `backups_enabled`."),
    ),
    cause(
        400,
        "another engine_config than valkey's",
        "spec, Errors 2",
        Before(&["R0304", "S0225-maxmemory"]),
    ),
    cause(400, "0.0.0.0/0 in the allowlist", "spec, Errors 3", Before(&["S0224-everyone"])),
    cause(400, "an invalid network in the allowlist", "spec, Errors 3", Before(&["S0224-cidr"])),
    cause(400, "an IPv6 network in the allowlist", "spec, Errors 3", Before(&["S0224-ipv6"])),
    cause(400, "more than 20 networks in the allowlist", "spec, Errors 3", Before(&["S0228-allowlist"])),
    cause(400, "a reserved user name", "spec, Errors 4", Before(&["S0224-user", "S0224-user_fnb"])),
    cause(400, "too many users", "spec, Errors 4", Before(&["R0401"])),
    cause(400, "an invalid cron schedule", "spec, Errors 5", Before(&["S0224-cron", "R1107", "R1108"])),
    cause(400, "an invalid time zone", "spec, Errors 5", Before(&["S0224-zone"])),
    cause(400, "a health check path without a slash", "spec, Errors 5", Before(&["S0224-health"])),
    cause(400, "a port out of bounds", "spec, Errors 5", Before(&["S0223-port"])),
    cause(400, "a reserved port", "spec, Errors 5", Before(&["R1105", "R1106"])),
    cause(400, "min_replicas above max_replicas", "spec, Errors 5", Before(&["R1111"])),
    cause(400, "more than 6 instances", "spec, Errors 5", Before(&["S0223-instances", "S0223-replicas"])),
    cause(
        400,
        "autoscaling of workers and always-on private apps",
        "spec, Errors 5",
        Before(&["R1109", "R1112"]),
    ),
    cause(
        400,
        "another usage period",
        "spec, Errors 5",
        Asked("`stead do usage` takes current or previous."),
    ),
    cause(400, "a cap below 1 USD", "spec, Errors 5", Before(&["R1402"])),
    cause(
        400,
        "storage nodes of a cluster",
        "spec, Errors 6",
        Before(&["S0220-storage_nodes", "S0220-storage_disk"]),
    ),
    cause(400, "a volume that does not grow", "spec, Errors 7", Before(&["grow_only-volume"])),
    // Fields, limits and endpoints.
    cause(400, "an API key's name out of bounds", "spec, Limits", Before(&["S0223-key_name"])),
    cause(400, "a key that ends in the past", "spec, Create API key", Before(&["R1801"])),
    cause(403, "the high tier without approval", "spec, Create API key", Before(&["R1802"])),
    cause(400, "a VPC's name out of bounds", "spec, Limits", Before(&["S0223-vpc_name"])),
    cause(400, "a VPC's network is none", "spec, VPC", Before(&["S0224-network"])),
    cause(400, "overlapping VPCs", "spec, VPC", Before(&["R0101", "R0101-live"])),
    cause(400, "another region", "spec, What the service does", Before(&["S0225-region"])),
    cause(400, "a volume without size", "spec, Resize volume", Before(&["S0223-size"])),
    cause(400, "an unknown plan, template or size", "spec, Catalog pricing", Before(&["catalog-plan"])),
    cause(400, "extensions of another engine", "spec, Catalogue of other endpoints", Before(&["R0305"])),
    cause(400, "an unknown engine version", "spec, Database", Before(&["R0307"])),
    cause(
        400,
        "another metric than concurrency",
        "spec, Catalogue of other endpoints",
        Before(&["S0225-metric"]),
    ),
    cause(
        400,
        "deploy_now of uploaded source",
        "spec, Catalogue of other endpoints",
        Sent("It is never sent."),
    ),
    cause(400, "a cap that is off", "spec, Spend settings", Before(&["R1401", "R1403"])),
    cause(
        400,
        "an upgrade that is not offered",
        "spec, Upgrade Kubernetes version",
        Before(&["choice-version"]),
    ),
    cause(
        400,
        "no confirm_single_master",
        "spec, Upgrade Kubernetes version",
        Sent("The call's table says when it is sent."),
    ),
    cause(400, "a pool without nodes", "spec, Limits", Before(&["S0223-pool"])),
    cause(400, "a taint without an effect", "contract, node_pool", Before(&["S0224-taint"])),
    cause(400, "a name that no path can hold", "contract, saved_query", Before(&["S0224-query"])),
    cause(400, "fewer than 2 workers", "spec, Limits", Before(&["R0901", "R0901-implied"])),
    cause(
        400,
        "a kubeconfig's lifetime out of bounds",
        "spec, Limits",
        Asked("`expires_in` has these bounds."),
    ),
    cause(400, "1 or 3 control planes", "contract, cluster", Before(&["R0501"])),
    cause(400, "a disk that shrinks", "contract, vm", Before(&["grow_only-vm"])),
    cause(400, "storage that shrinks", "contract, database", Before(&["grow_only-database"])),
    cause(400, "a snapshot of two things", "contract, snapshot", Before(&["R0701"])),
    cause(400, "a day of a daily schedule", "contract, backup_schedule", Before(&["R0201"])),
    cause(
        400,
        "an app of two sources, or of half of one",
        "contract, app",
        Before(&["R1102", "R1103", "R1104", "R1113"]),
    ),
    cause(400, "a fixed number of instances that varies", "contract, app", Before(&["R1110"])),
    cause(400, "more than one instance of a cron app or job", "contract, app", Before(&["R1114"])),
    cause(400, "a member who is two, or nobody", "contract, project_member", Before(&["R0801"])),
    cause(400, "an address that is none", "contract, invitation", Before(&["S0224-email"])),
    cause(400, "a public key that is none", "contract, ssh_key", Before(&["S0224-key"])),
    cause(400, "a domain that is none", "contract, app_domain", Before(&["S0224-domain"])),
    cause(400, "an unknown permission", "contract, role", Before(&["R1502"])),
    cause(
        400,
        "the default project's end",
        "contract, project",
        Sent("A stack owns only projects that it made."),
    ),
    // Money.
    cause(
        402,
        "too little balance for a subscription",
        "spec, Errors 402",
        Unseen("No answer shows the balance."),
    ),
    cause(402, "no card for a paid database", "spec, Errors 402", Unseen("No answer shows the cards.")),
    cause(
        403,
        "billing validation",
        "spec, Errors 403",
        Unseen("No answer shows whether the account is banned."),
    ),
    cause(
        403,
        "a change of a built-in role",
        "contract, role",
        Sent("A stack owns only roles that it made."),
    ),
    cause(412, "apps paused by the cap", "spec, Errors 412", Before(&["R1115", "R1115-cap"])),
    // What is taken, held or busy.
    cause(409, "a database's name", "contract, names", Before(&["R0306", "exists-database"])),
    cause(409, "a cluster's name", "contract, names", Before(&["R0502", "exists-cluster"])),
    cause(409, "an app's name", "contract, names", Before(&["R1101", "exists-app"])),
    cause(409, "a function's name", "contract, names", Before(&["R1001", "exists-function"])),
    cause(409, "a domain", "contract, names", Before(&["R1201", "R1201-live"])),
    cause(409, "a domain of another account", "contract, names", Unseen("No answer shows them.")),
    cause(409, "a user's name", "spec, Errors 409", Before(&["R0402"])),
    cause(409, "a saved query's name", "contract, saved_query", Before(&["R1701"])),
    cause(409, "a schedule of the same frequency", "contract, backup_schedule", Before(&["R0202"])),
    cause(409, "a second link of a database", "contract, app_database_link", Before(&["R1301"])),
    cause(409, "a second membership", "contract, project_member", Before(&["R0802", "R0803"])),
    cause(409, "a VPC in use", "contract, vpc", Before(&["R0102"])),
    cause(409, "a role in use", "contract, role", Before(&["R1501"])),
    cause(409, "a project that holds something", "contract, project", Before(&["R1901", "R1901-kinds"])),
    cause(409, "a volume that is attached", "contract, volume", Sent("It is detached first.")),
    cause(
        409,
        "an object that is not settled",
        "contract, Finer points 6",
        Sent("Apply waits for it first."),
    ),
];
