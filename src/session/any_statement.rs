//! Everything that can be executed, as one type.

use std::borrow::Cow;
use std::ops::Deref;

use super::{Batch, Prepared, Statement};

/// What [`Session::execute`](super::Session::execute) takes: text, a [`Statement`], a [`Prepared`], or a [`Batch`].
#[derive(Clone, Debug)]
pub struct AnyStatement<'a>(pub(super) Repr<'a>);

#[derive(Clone, Debug)]
pub(super) enum Repr<'a> {
    Text(Cow<'a, str>),
    // Those that are owned are large.
    Statement(Either<'a, Statement>),
    Prepared(Prepared),
    Batch(Either<'a, Batch>),
}

/// Borrowed, or in a box.
#[derive(Clone, Debug)]
pub(super) enum Either<'a, T> {
    Borrowed(&'a T),
    Boxed(Box<T>),
}

impl<T: Clone> Either<'_, T> {
    pub(super) fn into_owned(self) -> T {
        match self {
            Self::Borrowed(one) => one.clone(),
            Self::Boxed(one) => *one,
        }
    }
}

impl<T> Deref for Either<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(one) => one,
            Self::Boxed(one) => one,
        }
    }
}

impl<'a> From<&'a str> for AnyStatement<'a> {
    fn from(text: &'a str) -> Self {
        Self(Repr::Text(Cow::Borrowed(text)))
    }
}

impl<'a> From<&'a String> for AnyStatement<'a> {
    fn from(text: &'a String) -> Self {
        Self(Repr::Text(Cow::Borrowed(text)))
    }
}

impl From<String> for AnyStatement<'_> {
    fn from(text: String) -> Self {
        Self(Repr::Text(Cow::Owned(text)))
    }
}

impl From<Statement> for AnyStatement<'_> {
    fn from(statement: Statement) -> Self {
        Self(Repr::Statement(Either::Boxed(Box::new(statement))))
    }
}

impl<'a> From<&'a Statement> for AnyStatement<'a> {
    fn from(statement: &'a Statement) -> Self {
        Self(Repr::Statement(Either::Borrowed(statement)))
    }
}

impl From<Prepared> for AnyStatement<'_> {
    fn from(prepared: Prepared) -> Self {
        Self(Repr::Prepared(prepared))
    }
}

impl From<&Prepared> for AnyStatement<'_> {
    fn from(prepared: &Prepared) -> Self {
        Self(Repr::Prepared(prepared.clone()))
    }
}

impl From<Batch> for AnyStatement<'_> {
    fn from(batch: Batch) -> Self {
        Self(Repr::Batch(Either::Boxed(Box::new(batch))))
    }
}

impl<'a> From<&'a Batch> for AnyStatement<'a> {
    fn from(batch: &'a Batch) -> Self {
        Self(Repr::Batch(Either::Borrowed(batch)))
    }
}
