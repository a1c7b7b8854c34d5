//! A JSON array of strings, byte by byte.

use std::mem;

/// What does not fit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Syntax,
    NotAString,
    Text,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Before `[`.
    #[default]
    Start,
    /// After `[`: an entry or `]`.
    First,
    /// After a comma: an entry.
    Entry,
    /// Inside the quotes.
    Text,
    /// After a backslash.
    Escape,
    /// After `\u`: how many digits are missing, and what the others say.
    Unicode { missing: u8, unit: u16 },
    /// After an entry: a comma or `]`.
    After,
    /// After `]`.
    End,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Json {
    state: State,
    text: Vec<u8>,
    /// The first half of a pair of `\u` escapes.
    high: Option<u16>,
}

impl Json {
    /// Takes in one byte; gives an entry when it has ended.
    pub(super) fn push(&mut self, byte: u8) -> Result<Option<String>, Item> {
        self.state = match (self.state, byte) {
            (State::Start | State::First | State::Entry | State::After | State::End, b' ' | b'\t' | b'\n' | b'\r') => {
                return Ok(None);
            }
            (State::Start, b'[') => State::First,
            (State::First | State::Entry, b'"') => State::Text,
            (State::First, b']') | (State::After, b']') => State::End,
            (State::After, b',') => State::Entry,
            (State::First | State::Entry, b'{' | b'[' | b'0'..=b'9' | b'-' | b't' | b'f' | b'n') => {
                return Err(Item::NotAString);
            }
            (State::Text, b'\\') => State::Escape,
            // A first half must be followed by the second at once.
            (State::Text, _) if self.high.is_some() => return Err(Item::Text),
            (State::Text, b'"') => {
                self.state = State::After;
                return String::from_utf8(mem::take(&mut self.text)).map(Some).map_err(|_| Item::Text);
            }
            (State::Text, 0..0x20) => return Err(Item::Syntax),
            (State::Text, byte) => {
                self.text.push(byte);
                State::Text
            }
            (State::Escape, b'u') => State::Unicode { missing: 4, unit: 0 },
            (State::Escape, byte) => {
                if self.high.is_some() {
                    return Err(Item::Text);
                }
                self.text.push(escaped(byte).ok_or(Item::Syntax)?);
                State::Text
            }
            (State::Unicode { missing, unit }, byte) => {
                let digit = char::from(byte).to_digit(16).ok_or(Item::Syntax)?;
                let unit = unit << 4 | digit as u16;
                if missing == 1 {
                    self.unit(unit)?;
                    State::Text
                } else {
                    State::Unicode { missing: missing - 1, unit }
                }
            }
            (State::Start | State::First | State::Entry | State::After | State::End, _) => return Err(Item::Syntax),
        };
        Ok(None)
    }

    /// A UTF-16 unit: a character, or one half of one.
    fn unit(&mut self, unit: u16) -> Result<(), Item> {
        let text = match self.high.take() {
            Some(high) => String::from_utf16(&[high, unit]),
            None if (0xD800..0xDC00).contains(&unit) => {
                self.high = Some(unit);
                return Ok(());
            }
            None => String::from_utf16(&[unit]),
        };
        self.text.extend_from_slice(text.map_err(|_| Item::Text)?.as_bytes());
        Ok(())
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, State::End)
    }
}

fn escaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}
