//! Reads a secret from the terminal without echo, and restores the terminal in every case, errors included.

use std::io::{self, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::exit_code::Exit;
use super::failure::CliFailure;

/// Terminal without echo; dropping it restores the previous settings.
struct EchoGuard {
    usual: Termios,
}

impl EchoGuard {
    /// Disables echo and signal keys. A signal that ended the program here would leave the user
    /// with a terminal without echo.
    fn disable_echo() -> io::Result<Self> {
        let input = io::stdin();
        let usual = tcgetattr(&input)?;
        let mut quiet = usual.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Discards input that was typed before the prompt appeared.
        tcsetattr(&input, OptionalActions::Flush, &quiet)?;
        Ok(Self { usual })
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // An error means that the terminal is gone, so there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.usual);
    }
}

/// Prompts with `question`, and returns the typed line without its line end; `what` names the value in errors.
/// Typed input is secret.
///
/// # Errors
/// When standard input is not a terminal or cannot be read, the line is not UTF-8, or Ctrl-C was typed.
pub(in crate::cli) fn ask_without_echo(question: &str, what: &str) -> Result<String, CliFailure> {
    let failed =
        |error: io::Error| CliFailure::new(Exit::Failed, format!("{what} cannot be read: {error}"));
    let quiet = EchoGuard::disable_echo().map_err(failed)?;
    let mut terminal = io::stderr().lock();
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(failed)?;
    let line = read_line(io::stdin().lock()).map_err(failed);
    // The typed line break is not echoed, either.
    writeln!(terminal).map_err(failed)?;
    drop(quiet);
    line?.ok_or_else(|| {
        CliFailure::new(Exit::Interrupted, format!("{what} was not given, nothing was done"))
    })
}

/// Reads keys until the end of the line or of the input; `None` if the user cancels. Editing keys are handled here,
/// because the terminal is not in its line mode.
fn read_line(mut keys: impl Read) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut key = [0];
    while keys.read(&mut key)? > 0 {
        match key[0] {
            b'\r' | b'\n' => break,
            END_OF_INPUT if line.is_empty() => break,
            INTERRUPT | QUIT => return Ok(None),
            KILL_LINE => line.clear(),
            BACKSPACE | DELETE => remove_last_char(&mut line),
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
}

const INTERRUPT: u8 = 0x03;
const END_OF_INPUT: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const KILL_LINE: u8 = 0x15;
const QUIT: u8 = 0x1C;
const DELETE: u8 = 0x7F;

/// Removes the last character, which can have several bytes.
fn remove_last_char(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[u8]) -> Option<String> {
        read_line(keys).unwrap()
    }

    #[test]
    fn a_typed_line_is_edited_before_it_is_returned() {
        for (keys, line) in [
            (&b"abc\nrest"[..], "abc"),
            (b"abc\r", "abc"),
            (b"abc", "abc"),
            (b"\n", ""),
            (b"\x04", ""),
            (b"a\x04b\n", "a\x04b"),
            (b"abd\x7Fc\n", "abc"),
            ("aé\x08b\n".as_bytes(), "ab"),
            (b"\x7F\x7Fa\n", "a"),
            (b"wrong\x15right\n", "right"),
        ] {
            assert_eq!(typed(keys).as_deref(), Some(line), "{keys:?}");
        }
        assert!(read_line(&b"\xFF\n"[..]).is_err());
    }

    #[test]
    fn an_interrupt_cancels_the_input() {
        assert_eq!(typed(b"abc\x03\n"), None);
        assert_eq!(typed(b"\x1C"), None);
    }
}
