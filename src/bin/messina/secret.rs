//! A line that is typed unseen.

use std::io;

/// What was typed; `None` if it was cancelled.
#[cfg(unix)]
pub(crate) fn read() -> io::Result<Option<String>> {
    use std::{
        fs::File,
        io::{IsTerminal, Read},
        os::fd::AsFd,
    };

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    /// Restores what the terminal did before, however this ends.
    struct Restored<'a>(&'a File, Termios);

    impl Drop for Restored<'_> {
        fn drop(&mut self) {
            let _ = tcsetattr(self.0, OptionalActions::Flush, &self.1);
        }
    }

    let stdin = io::stdin();
    let terminal = match stdin.is_terminal() {
        true => File::from(stdin.as_fd().try_clone_to_owned()?),
        false => File::open("/dev/tty")?,
    };
    let before = tcgetattr(&terminal)?;
    let mut hidden = before.clone();
    // Without signals: one would end this process and leave the terminal without echo.
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
    hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
    let _restored = Restored(&terminal, before);
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    let mut typed = Line::default();
    let mut byte = [0];
    while (&terminal).read(&mut byte)? == 1 {
        match typed.take(byte[0]) {
            Taken::More => {}
            Taken::Done => return typed.text().map(Some),
            Taken::Cancelled => return Ok(None),
        }
    }
    Ok(None)
}

#[cfg(not(unix))]
pub(crate) fn read() -> io::Result<Option<String>> {
    console::Term::stderr().read_secure_line().map(Some)
}

/// What is typed until now.
#[cfg(unix)]
#[derive(Default)]
struct Line(Vec<u8>);

#[cfg(unix)]
enum Taken {
    More,
    Done,
    Cancelled,
}

#[cfg(unix)]
impl Line {
    fn take(&mut self, byte: u8) -> Taken {
        const CTRL_C: u8 = 3;
        const CTRL_D: u8 = 4;
        const BACKSPACE: u8 = 8;
        const CTRL_U: u8 = 21;
        const CTRL_BACKSLASH: u8 = 28;
        const DELETE: u8 = 127;
        match byte {
            b'\n' | b'\r' => return Taken::Done,
            CTRL_C | CTRL_BACKSLASH => return Taken::Cancelled,
            CTRL_D if self.0.is_empty() => return Taken::Cancelled,
            CTRL_D => {}
            // All bytes of the last character.
            BACKSPACE | DELETE => while self.0.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            CTRL_U => self.0.clear(),
            byte => self.0.push(byte),
        }
        Taken::More
    }

    fn text(self) -> io::Result<String> {
        String::from_utf8(self.0).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    }
}
