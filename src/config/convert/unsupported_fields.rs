//! Reasons why fields of other tools are not converted, by field name.

/// Field names, and what the user should do about them.
const REASONS: &[(&[&str], &str)] = &[
    (
        &["volumes", "tmpfs", "disk", "volumes_from"],
        "an app keeps no files from one deployment to the next: keep them in a database or an object store",
    ),
    (
        &["networks", "network_mode", "links", "dns", "extra_hosts", "hostname"],
        "apps have no networks of their own",
    ),
    (
        &["env_file", "configs", "secrets"],
        "no file of variables is read: write them into `env_vars`, the secret ones as `type: secret` variables",
    ),
    (
        &[
            "build_command",
            "buildCommand",
            "dockerfile",
            "dockerfile_path",
            "dockerfilePath",
            "dockerContext",
            "target",
            "args",
            "buildFilter",
            "preDeployCommand",
            "initialDeployHook",
        ],
        "how to build is found out by the platform; what else has to run belongs into the source",
    ),
    (
        &["mem_limit", "mem_reservation", "memswap_limit", "cpus", "cpu_shares", "resources", "shm_size"],
        "`size` says what an instance has",
    ),
    (&["working_dir"], "begin `start_command` with `cd`"),
    (&["profiles"], "there are no profiles: remove the block where it is not wanted, or give it a `when`"),
    (&["extends"], "what it adds stands elsewhere: write it here"),
    (&["routes", "ingress"], "each app has an address of its own: there is no routing by path"),
    (&["kind"], "a job runs on request: stead do run"),
    (&["static_sites"], "there are no static sites: serve the files from a web app"),
    (&["functions"], "functions are a kind of their own here: write its block"),
    (
        &["gitlab", "bitbucket"],
        "only repositories on GitHub are built; of another, `source_dir` uploads a copy of the files",
    ),
    (
        &[
            "user",
            "cap_add",
            "cap_drop",
            "privileged",
            "security_opt",
            "read_only",
            "devices",
            "sysctls",
            "ulimits",
            "ipc",
            "pid",
            "userns_mode",
            "pids_limit",
            "group_add",
            "runtime",
        ],
        "how a container is confined is the platform's matter",
    ),
    (&["databaseName"], "the service names them; further users are `users`"),
];

/// Returns why a field is not converted; empty when there is nothing to add.
pub(super) fn omission_reason(key: &str) -> &'static str {
    REASONS.iter().find(|(keys, _)| keys.contains(&key)).map_or("", |(_, why)| *why)
}
