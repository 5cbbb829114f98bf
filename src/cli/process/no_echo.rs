//! What a person types at the terminal and nobody sees.

use std::io::{self, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::exit_code::Exit;
use super::failure::CliFailure;

/// The terminal as it was, put back however the reading ends.
struct EchoGuard {
    usual: Termios,
}

impl EchoGuard {
    /// Nothing that is typed is shown any more, nor makes a signal: one that ended the program here would
    /// leave the person with a terminal that shows nothing.
    fn disable_echo() -> io::Result<Self> {
        let input = io::stdin();
        let usual = tcgetattr(&input)?;
        let mut quiet = usual.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before the question stands is thrown away.
        tcsetattr(&input, OptionalActions::Flush, &quiet)?;
        Ok(Self { usual })
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // Nothing is left to be done about a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.usual);
    }
}

/// Asks for `what`, and returns the line that was typed, without its end.
///
/// # Errors
/// When standard input is no terminal or cannot be read, and when Ctrl-C was typed.
pub(in crate::cli) fn ask_without_echo(question: &str, what: &str) -> Result<String, CliFailure> {
    let failed =
        |error: io::Error| CliFailure::new(Exit::Failed, format!("{what} cannot be read: {error}"));
    let quiet = EchoGuard::disable_echo().map_err(failed)?;
    let mut terminal = io::stderr().lock();
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(failed)?;
    let line = read_line(io::stdin().lock()).map_err(failed);
    // The line break that was typed is not shown, either.
    writeln!(terminal).map_err(failed)?;
    drop(quiet);
    line?.ok_or_else(|| {
        CliFailure::new(Exit::Interrupted, format!("{what} was not given, nothing was done"))
    })
}

/// Reads keys up to the end of a line, or of all input; `None` when the person gives up.
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

/// Takes the last character away, of which there may be several bytes.
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
    fn a_line_is_what_stands_when_it_ends() {
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
    fn a_person_may_give_up() {
        assert_eq!(typed(b"abc\x03\n"), None);
        assert_eq!(typed(b"\x1C"), None);
    }
}
