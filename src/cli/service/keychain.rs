//! Access to the system's keychain by the system's own program: `security` on macOS, `secret-tool` of libsecret
//! elsewhere (GNOME's keyring, KWallet, KeePassXC). A key is passed by standard input and output, never by an argument,
//! and is bound to one origin and one profile, like a key in the file.

use super::credentials::{CredentialScope, is_key, non_default_profile};
use crate::cli::process::env::EnvVariables;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::helper_program::{HELPER_TIMEOUT, HelperProgram};
use crate::cli::process::profile::DEFAULT;
use crate::model::crypto::hex::encode_hex;
use crate::model::values::secret::Secret;

/// Program that accesses the keychain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeychainTool {
    SecretTool,
    Security,
}

/// Program of this operating system.
const TOOL: KeychainTool =
    if cfg!(target_os = "macos") { KeychainTool::Security } else { KeychainTool::SecretTool };

/// Operation on the keychain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeychainOperation<'k> {
    Store(&'k str),
    Find,
    Forget,
}

/// Stores a key in the keychain, replacing an older one, and reads it back: the exit status of the program does not
/// prove that it stored the key.
///
/// # Errors
/// When there is no keychain, it refuses the key, or it returns another one.
pub(in crate::cli) fn store(
    place: CredentialScope<'_>,
    key: &str,
    variables: &EnvVariables,
) -> Result<(), CliFailure> {
    let told = |why: String| unusable_keychain(Exit::Failed, &why).help("Nothing was stored.");
    let (words, input) = tool_command(TOOL, KeychainOperation::Store(key), place);
    HelperProgram::new(&words, &[], variables).send_input(&input, HELPER_TIMEOUT).map_err(told)?;
    match read_key(place, variables) {
        Ok(kept) if kept.expose() == Some(key) => Ok(()),
        Ok(_) => Err(told("it returns another key than the one that was stored".to_owned())),
        Err(why) => Err(told(why)),
    }
}

/// Returns the key in the keychain for an origin and profile.
///
/// # Errors
/// When there is no keychain, it stays locked, or it has no such key.
pub(in crate::cli) fn find(
    place: CredentialScope<'_>,
    variables: &EnvVariables,
) -> Result<Secret, CliFailure> {
    read_key(place, variables).map_err(|why| {
        unusable_keychain(Exit::Refused, &why)
            .help(format!("The key for {} is stored there: unlock it, or log in again.", place.origin))
    })
}

/// Removes a key from the keychain.
///
/// # Errors
/// The reason, as a clause, why the key may still be there.
pub(in crate::cli) fn forget(place: CredentialScope<'_>, variables: &EnvVariables) -> Result<(), String> {
    let (words, _) = tool_command(TOOL, KeychainOperation::Forget, place);
    HelperProgram::new(&words, &[], variables)
        .capture_output(HELPER_TIMEOUT)
        .map(drop)
        .map_err(|why| prefix_tool_name(&why))
}

/// Returns the label under which the keychain shows a key. Keys of several profiles have the same label.
pub(in crate::cli) fn key_label(place: CredentialScope<'_>) -> String {
    format!("stead: {}", place.origin)
}

/// Reads a key from the keychain; the error never contains its output.
fn read_key(place: CredentialScope<'_>, variables: &EnvVariables) -> Result<Secret, String> {
    let (words, _) = tool_command(TOOL, KeychainOperation::Find, place);
    let bytes = HelperProgram::new(&words, &[], variables).capture_output(HELPER_TIMEOUT)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim_end_matches(['\r', '\n']);
    if is_key(key) { Ok(Secret::new(key)) } else { Err("its entry is not a key".to_owned()) }
}

fn prefix_tool_name(why: &str) -> String {
    let program = match TOOL {
        KeychainTool::SecretTool => "secret-tool",
        KeychainTool::Security => "security",
    };
    format!("{program}: {why}")
}

fn unusable_keychain(exit: Exit, why: &str) -> CliFailure {
    let needs = match TOOL {
        KeychainTool::SecretTool => {
            "It needs secret-tool (Debian and Ubuntu: libsecret-tools) and a keyring that runs in your session."
        }
        KeychainTool::Security => "Keychain Access shows whether the login keychain is locked.",
    };
    CliFailure::new(exit, format!("the system's keychain cannot be used: {}", prefix_tool_name(why)))
        .help(needs)
        .help("stead login without --keychain keeps the key in a file that only you can read.")
}

/// Returns the program's command line, and its standard input, which is empty unless it stores a key.
fn tool_command(
    tool: KeychainTool,
    deed: KeychainOperation<'_>,
    place: CredentialScope<'_>,
) -> (Vec<String>, String) {
    let profile = non_default_profile(place.profile).map_or(DEFAULT, |name| name.as_str());
    let (label, origin) = (key_label(place), place.origin);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let told = ["application", "stead", "origin", origin, "profile", profile];
    match (tool, deed) {
        (KeychainTool::SecretTool, KeychainOperation::Store(key)) => {
            let store = ["secret-tool", "store", "--label", &label];
            (words(&[&store[..], &told[..]].concat()), key.to_owned())
        }
        (KeychainTool::SecretTool, KeychainOperation::Find) => {
            (words(&[&["secret-tool", "lookup"], &told[..]].concat()), String::new())
        }
        (KeychainTool::SecretTool, KeychainOperation::Forget) => {
            (words(&[&["secret-tool", "clear"], &told[..]].concat()), String::new())
        }
        // Every process can read arguments, so the key is passed in a line of the input; written in hexadecimal, none
        // of its characters is special there.
        (KeychainTool::Security, KeychainOperation::Store(key)) => {
            let (profile, label, key) =
                (quote_word(profile), quote_word(&label), encode_hex(key.as_bytes()));
            let line = format!("add-generic-password -U -a {profile} -s {label} -X {key}\n");
            (words(&["security", "-i"]), line)
        }
        (KeychainTool::Security, KeychainOperation::Find) => (
            words(&["security", "find-generic-password", "-a", profile, "-s", &label, "-w"]),
            String::new(),
        ),
        (KeychainTool::Security, KeychainOperation::Forget) => {
            (words(&["security", "delete-generic-password", "-a", profile, "-s", &label]), String::new())
        }
    }
}

/// Returns a word with the quotes that `security -i` needs.
fn quote_word(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::address::Name;

    #[test]
    fn a_keychain_key_is_in_no_argument_and_bound_to_origin_and_profile() {
        let work = Name::new("work \"x\"");
        let origin = "https://api.example.com";
        for tool in [KeychainTool::SecretTool, KeychainTool::Security] {
            for profile in [None, Some(&work)] {
                let place = CredentialScope { origin, profile };
                let (words, input) = tool_command(tool, KeychainOperation::Store("canary\"key"), place);
                assert!(!words.join(" ").contains("canary") && !input.is_empty(), "{words:?}");
                for deed in [KeychainOperation::Find, KeychainOperation::Forget] {
                    let (words, input) = tool_command(tool, deed, place);
                    assert!(words.iter().any(|word| word.contains(origin)), "{words:?}");
                    assert!(words.iter().any(|word| word == profile.map_or("default", |n| n)), "{words:?}");
                    assert_eq!(input, "");
                }
            }
        }
        let place = CredentialScope { origin, profile: Some(&work) };
        assert_eq!(
            tool_command(KeychainTool::Security, KeychainOperation::Store("a\"b"), place).1,
            "add-generic-password -U -a \"work \\\"x\\\"\" -s \"stead: https://api.example.com\" -X 612262\n"
        );
        let default = Name::new("default");
        let named = CredentialScope { origin, profile: Some(&default) };
        assert_eq!(
            tool_command(TOOL, KeychainOperation::Find, named),
            tool_command(TOOL, KeychainOperation::Find, CredentialScope { origin, profile: None })
        );
    }
}
