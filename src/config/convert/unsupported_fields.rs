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
        "files of variables are not read: write the variables into `env_vars`, the secret ones as `type: secret` variables",
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
        "the platform detects how to build; other build steps must be part of the source",
    ),
    (
        &["mem_limit", "mem_reservation", "memswap_limit", "cpus", "cpu_shares", "resources", "shm_size"],
        "`size` determines the resources of an instance",
    ),
    (&["working_dir"], "begin `start_command` with `cd`"),
    (&["profiles"], "there are no profiles: remove the block where it is not wanted, or give it a `when`"),
    (&["extends"], "the extended definition is elsewhere: write its fields here"),
    (&["routes", "ingress"], "each app has an address of its own: there is no routing by path"),
    (&["kind"], "a job runs on request: stead do run"),
    (&["static_sites"], "there are no static sites: serve the files from a web app"),
    (&["functions"], "functions are a separate kind here: write a block of that kind"),
    (
        &["gitlab", "bitbucket"],
        "only repositories on GitHub are built; for others, `source_dir` uploads a copy of the files",
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
        "the platform controls the isolation of containers",
    ),
    (&["databaseName"], "the service chooses the names; further users are declared in `users`"),
];

/// Returns why a field is not converted; empty when its name says enough.
pub(super) fn omission_reason(key: &str) -> &'static str {
    REASONS.iter().find(|(keys, _)| keys.contains(&key)).map_or("", |(_, why)| *why)
}
