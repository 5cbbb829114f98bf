//! Who runs this process: `user@host`, for locks and journals.

use super::settings::Variables;

/// Returns `user@host`, as well as this machine knows.
pub(super) fn am_i(variables: &Variables) -> String {
    let user =
        ["USER", "LOGNAME"].iter().find_map(|name| variables.get(*name)).map_or("someone", String::as_str);
    let uname = rustix::system::uname();
    format!("{user}@{}", uname.nodename().to_string_lossy())
}
