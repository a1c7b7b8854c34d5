//! Types by the name of their Java class: vectors, and whatever has no number.
//!
//! `org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)` is a `vector<float, 3>`.
//! A class that is not known is a blob, and is noted; so is a vector of such a class, since its cells cannot be told apart.

use std::borrow::Cow;
use std::sync::Arc;

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType, UserDefinedType};

use super::column_type::MAX_DEPTH;
use crate::protocol::parse_error::Problem;

const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// How much of a wrong class name an error shows.
const SHOWN: usize = 200;

/// Reads a class name that stands `depth` types deep. Names that are not known are added to `opaque`.
pub(super) fn parse(class: &str, depth: usize, opaque: &mut Vec<String>) -> Result<ColumnType<'static>, Problem> {
    let mut parser = Parser { rest: class, frozen: false, opaque };
    let parsed = parser.class(depth).and_then(|parsed| {
        parser.skip_blanks();
        if parser.rest.is_empty() { Ok(parsed.typ) } else { Err(Wrong::Because("something follows it")) }
    });
    parsed.map_err(|wrong| match wrong {
        Wrong::TooDeep => Problem::TooDeep(MAX_DEPTH),
        Wrong::Because(reason) => Problem::Class { class: class.chars().take(SHOWN).collect(), reason },
    })
}

enum Wrong {
    TooDeep,
    Because(&'static str),
}

/// A type, and whether it is a blob only because its class is not known.
struct Parsed {
    typ: ColumnType<'static>,
    opaque: bool,
}

impl From<ColumnType<'static>> for Parsed {
    fn from(typ: ColumnType<'static>) -> Self {
        Self { typ, opaque: false }
    }
}

struct Parser<'a, 'o> {
    rest: &'a str,
    /// Whether a `FrozenType` is around; frozenness reaches all the way in.
    frozen: bool,
    opaque: &'o mut Vec<String>,
}

impl<'a> Parser<'a, '_> {
    fn class(&mut self, depth: usize) -> Result<Parsed, Wrong> {
        if depth > MAX_DEPTH {
            return Err(Wrong::TooDeep);
        }
        self.skip_blanks();
        let start = self.rest;
        let mut name = self.identifier();
        if self.accept(':') {
            // An alias in hexadecimal, which says nothing about the type.
            name = self.identifier();
        }
        self.skip_blanks();
        let short = name.strip_prefix(PACKAGE).unwrap_or(name);
        if let Some(native) = native(short) {
            self.skip_parameters()?;
            return Ok(ColumnType::Native(native).into());
        }
        match short {
            "ReversedType" => self.only_parameter(depth),
            "FrozenType" => {
                let around = std::mem::replace(&mut self.frozen, true);
                let inner = self.only_parameter(depth);
                self.frozen = around;
                inner
            }
            "ListType" => {
                let inner = Box::new(self.only_parameter(depth)?.typ);
                Ok(self.collection(CollectionType::List(inner)))
            }
            "SetType" => {
                let inner = Box::new(self.only_parameter(depth)?.typ);
                Ok(self.collection(CollectionType::Set(inner)))
            }
            "MapType" => self.map(depth),
            "TupleType" => self.tuple(depth),
            "UserType" => self.user_type(depth),
            "VectorType" => self.vector(depth, start),
            _ => {
                self.skip_parameters()?;
                Ok(self.unknown(start))
            }
        }
    }

    fn collection(&self, typ: CollectionType<'static>) -> Parsed {
        let frozen = self.frozen;
        ColumnType::Collection { frozen, typ }.into()
    }

    fn map(&mut self, depth: usize) -> Result<Parsed, Wrong> {
        self.expect('(', "its parameters are missing")?;
        let key = Box::new(self.class(depth + 1)?.typ);
        self.expect(',', "it needs two parameters")?;
        let value = Box::new(self.class(depth + 1)?.typ);
        self.close()?;
        Ok(self.collection(CollectionType::Map(key, value)))
    }

    fn tuple(&mut self, depth: usize) -> Result<Parsed, Wrong> {
        self.expect('(', "its parameters are missing")?;
        let mut types = Vec::new();
        while !self.accept(')') {
            types.push(self.class(depth + 1)?.typ);
            self.next_parameter()?;
        }
        if types.is_empty() {
            return Err(Wrong::Because("a tuple has no types"));
        }
        Ok(ColumnType::Tuple(types).into())
    }

    fn user_type(&mut self, depth: usize) -> Result<Parsed, Wrong> {
        self.expect('(', "its parameters are missing")?;
        self.skip_blanks();
        let keyspace = self.identifier().to_owned();
        self.expect(',', "the name of a user type is missing")?;
        self.skip_blanks();
        let name = from_hex(self.identifier())?;
        self.next_parameter()?;
        let mut field_types = Vec::new();
        while !self.accept(')') {
            self.skip_blanks();
            let field = from_hex(self.identifier())?;
            self.expect(':', "the type of a field is missing")?;
            field_types.push((Cow::Owned(field), self.class(depth + 1)?.typ));
            self.next_parameter()?;
        }
        let definition = Arc::new(UserDefinedType { name: name.into(), keyspace: keyspace.into(), field_types });
        let frozen = self.frozen;
        Ok(ColumnType::UserDefinedType { frozen, definition }.into())
    }

    fn vector(&mut self, depth: usize, start: &'a str) -> Result<Parsed, Wrong> {
        self.expect('(', "its parameters are missing")?;
        let inner = self.class(depth + 1)?;
        self.expect(',', "it needs two parameters")?;
        self.skip_blanks();
        let dimensions = self.identifier();
        if dimensions.is_empty() || !dimensions.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Wrong::Because("the dimensions of a vector are no number"));
        }
        self.close()?;
        // A vector that cannot be told in our types is opaque as a whole.
        let known = dimensions.parse().ok().filter(|_| !inner.opaque);
        let Some(dimensions) = known.filter(|count| fits(&inner.typ, *count)) else {
            return Ok(self.unknown(start));
        };
        let typ = Box::new(inner.typ);
        Ok(ColumnType::Vector { typ, dimensions }.into())
    }

    /// The one parameter of a class that has one.
    fn only_parameter(&mut self, depth: usize) -> Result<Parsed, Wrong> {
        self.expect('(', "its parameter is missing")?;
        let inner = self.class(depth + 1)?;
        self.close()?;
        Ok(inner)
    }

    /// Notes the class that began at `start` and has just been passed.
    fn unknown(&mut self, start: &'a str) -> Parsed {
        let class = &start[..start.len() - self.rest.len()];
        self.opaque.push(class.trim_end().to_owned());
        Parsed { typ: ColumnType::Native(NativeType::Blob), opaque: true }
    }

    /// Passes the parameters of a class whose parameters say nothing to us, however deep they are.
    fn skip_parameters(&mut self) -> Result<(), Wrong> {
        if !self.rest.starts_with('(') {
            return Ok(());
        }
        let mut open = 0_usize;
        for (index, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(());
            }
        }
        Err(Wrong::Because("a parenthesis is not closed"))
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn identifier(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|character: char| !(character.is_alphanumeric() || matches!(character, '+' | '-' | '_' | '.' | '&')));
        let (identifier, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        identifier
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.skip_blanks();
        let Some(rest) = self.rest.strip_prefix(wanted) else {
            return false;
        };
        self.rest = rest;
        true
    }

    fn expect(&mut self, wanted: char, otherwise: &'static str) -> Result<(), Wrong> {
        if self.accept(wanted) { Ok(()) } else { Err(Wrong::Because(otherwise)) }
    }

    fn close(&mut self) -> Result<(), Wrong> {
        self.expect(')', "it has another number of parameters than its class")
    }

    /// Passes a comma, or stays before the closing parenthesis.
    fn next_parameter(&mut self) -> Result<(), Wrong> {
        self.skip_blanks();
        if self.rest.starts_with(')') {
            return Ok(());
        }
        self.expect(',', "a parenthesis is not closed")
    }
}

/// Whether a vector has cells, and, if they are fixed, a length that a value may have.
fn fits(inner: &ColumnType<'_>, dimensions: u16) -> bool {
    // The length of an inner vector was held against the same limit, so this cannot overflow.
    let length = inner.type_size_for_vector().map(|size| size as u64 * u64::from(dimensions));
    // Without cells it would take no bytes, and vectors of it could have billions for nothing.
    dimensions > 0 && length.is_none_or(|length| length <= i32::MAX as u64)
}

fn from_hex(digits: &str) -> Result<String, Wrong> {
    let wrong = Wrong::Because("a name is not in hexadecimal");
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let bytes = digits.as_bytes().chunks_exact(2);
    let bytes = bytes.map(|pair| value(pair[0]) << 4 | value(pair[1]));
    String::from_utf8(bytes.collect()).map_err(|_| Wrong::Because("a name is not UTF-8"))
}

fn native(short: &str) -> Option<NativeType> {
    Some(match short {
        "AsciiType" => NativeType::Ascii,
        "BooleanType" => NativeType::Boolean,
        "ByteType" | "TinyIntType" => NativeType::TinyInt,
        "BytesType" => NativeType::Blob,
        "CounterColumnType" => NativeType::Counter,
        // The class that came before `TimestampType`, with the same values.
        "DateType" | "TimestampType" => NativeType::Timestamp,
        "DecimalType" => NativeType::Decimal,
        "DoubleType" => NativeType::Double,
        "DurationType" => NativeType::Duration,
        "FloatType" => NativeType::Float,
        "InetAddressType" => NativeType::Inet,
        "Int32Type" => NativeType::Int,
        "IntegerType" => NativeType::Varint,
        "LongType" => NativeType::BigInt,
        "ShortType" | "SmallIntType" => NativeType::SmallInt,
        "SimpleDateType" => NativeType::Date,
        "TimeType" => NativeType::Time,
        "TimeUUIDType" => NativeType::Timeuuid,
        "UTF8Type" => NativeType::Text,
        "UUIDType" | "LexicalUUIDType" => NativeType::Uuid,
        _ => return None,
    })
}
