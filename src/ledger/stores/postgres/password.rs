//! The password that PostgreSQL's own programs use: `PGPASSWORD`, or a line of `~/.pgpass`. Both are read here.
#![allow(clippy::disallowed_methods, reason = "the edge where the password is read")]

use std::path::PathBuf;

use secrecy::SecretString;

use super::address::{PostgresAddress, ServerHost};

/// Returns the password for an address: its own, or a stored one.
///
/// # Errors
/// When the file of passwords is open to others.
pub(super) fn find_password(address: &PostgresAddress) -> Result<Option<SecretString>, String> {
    if let Some(password) = &address.password {
        return Ok(Some(password.clone()));
    }
    if let Ok(password) = std::env::var("PGPASSWORD")
        && !password.is_empty()
    {
        return Ok(Some(password.into()));
    }
    let Some(user) = address.user.as_deref() else { return Ok(None) };
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let Some(file) = named.or_else(|| Some(std::env::home_dir()?.join(".pgpass"))) else {
        return Ok(None);
    };
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let Some(password) = find_in_passfile(&text, address, user) else { return Ok(None) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::metadata(&file).is_ok_and(|file| file.permissions().mode() & 0o077 != 0);
        if open {
            return Err(format!("{} is accessible to other users: chmod 600 it", file.display()));
        }
    }
    Ok(Some(password.into()))
}

/// Returns the password of the first matching line.
fn find_in_passfile(text: &str, address: &PostgresAddress, user: &str) -> Option<String> {
    let host = match &address.host {
        ServerHost::Tcp(name) => name.clone(),
        ServerHost::Socket(directory) => directory.display().to_string(),
    };
    let port = address.port.to_string();
    let wanted = [host.as_str(), port.as_str(), address.database.as_str(), user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split_fields(line);
        let [known @ .., password] = fields.as_slice() else { return None };
        let fits = |(known, wanted): (&String, &str)| known == "*" || known == wanted;
        let is_it = known.len() == wanted.len() && known.iter().zip(wanted).all(fits);
        is_it.then(|| password.clone())
    })
}

/// Returns the fields of a line: separated by colons, with the escapes `\:` and `\\`.
fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let literal = if c == '\\' { chars.next() } else { None };
        match (literal.unwrap_or(c), literal, fields.last_mut()) {
            (':', None, _) => fields.push(String::new()),
            (c, _, Some(field)) => field.push(c),
            (_, _, None) => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_line_of_pgpass_has_the_password() {
        let address = PostgresAddress::parse("postgres://me@db:6432/books").unwrap();
        let text = "# db:6432:books:me:no\ndb:5432:books:me:no\ndb:6432:*:you:no\nshort:line\n\
                    db:*:books:me:a\\:b\\\\c\n*:*:*:*:last\n";
        assert_eq!(find_in_passfile(text, &address, "me").as_deref(), Some("a:b\\c"));
        assert_eq!(find_in_passfile(text, &address, "she").as_deref(), Some("last"));
        assert_eq!(find_in_passfile("db:6432:books:me", &address, "me"), None);
    }
}
