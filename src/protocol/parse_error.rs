//! What can be wrong with the body of a message.

use thiserror::Error;

/// A body that does not say what it should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot read {what} at byte {offset} of the body")]
pub struct ParseError {
    /// What was being read.
    pub what: &'static str,
    /// Where in the body, after decompression, it should stand.
    pub offset: usize,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a part of a body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The body ends too early.
    #[error("{needed} bytes are needed, {left} are left")]
    TooShort {
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// A length or a count is negative.
    #[error("its length is {0}")]
    Negative(i32),
    /// There are more of it than the bytes left can hold.
    #[error("there should be {count} of it, which {left} bytes cannot hold")]
    TooMany {
        /// The announced count.
        count: u64,
        /// How many bytes there are.
        left: usize,
    },
    /// Something is null or empty that cannot be.
    #[error("it is empty")]
    Empty,
    /// A text is not UTF-8.
    #[error("it is not UTF-8")]
    Utf8,
    /// A number has no meaning there.
    #[error("{0} has no meaning there")]
    Unknown(i64),
    /// An address is neither of version 4 nor 6.
    #[error("an address cannot have {0} bytes")]
    AddressLength(u8),
    /// A type contains others, deeper than anything real.
    #[error("types are nested deeper than {0}")]
    TooDeep(usize),
    /// The class name of a type makes no sense.
    #[error("the class name {class:?} is wrong: {reason}")]
    Class {
        /// The class name, or its beginning.
        class: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The names of the columns would take far more memory than the body.
    #[error("its names would take {0} bytes")]
    Expansion(u64),
    /// The server left the metadata out, but none is known.
    #[error("the server left it out, and it is not known")]
    NoMetadata,
    /// The server left the metadata out, and what is known does not fit.
    #[error("the server left it out for {told} columns, where {known} are known")]
    OtherMetadata {
        /// How many columns the server tells.
        told: usize,
        /// How many are known.
        known: usize,
    },
    /// There are rows, but they have no columns.
    #[error("there should be {0} rows without columns")]
    RowsWithoutColumns(usize),
    /// The envelope was not decompressed.
    #[error("it is still compressed")]
    Compressed,
    /// An answer in another version than the connection speaks.
    #[error("it is in protocol version {came}, where {spoken} is spoken")]
    OtherVersion {
        /// The version of the answer.
        came: u8,
        /// The version of the connection.
        spoken: u8,
    },
    /// A request where an answer should be.
    #[error("it is a request")]
    Request,
}
