//! Values, serialized once.

use messina::protocol::Values;
use messina::protocol::request::{MAX_BODY, ValuesError};
use scylla_cql_core::frame::response::result::{ColumnType, NativeType};
use scylla_cql_core::frame::types::RawValue;
use scylla_cql_core::serialize::row::{RowSerializationContext, SerializeRow};
use scylla_cql_core::serialize::{RowWriter, SerializationError};
use scylla_cql_core::value::{CqlValue, Unset};

use crate::golden::{column, golden};

fn int() -> ColumnType<'static> {
    ColumnType::Native(NativeType::Int)
}

/// cql 3: null is -1, unset is -2, everything else a length and bytes.
#[test]
fn values_are_lengths_and_bytes() {
    let columns = [column("a", int()), column("b", int()), column("c", int())];
    let values = Values::serialize(&columns, &(7_i32, None::<i32>, Unset)).unwrap();
    assert_eq!(values.as_bytes(), golden("00000004 00000007 FFFFFFFF FFFFFFFE"));
    assert_eq!((values.count(), values.has_unset(), values.is_named()), (3, true, false));
    let cells: Vec<_> = values.iter().collect();
    assert_eq!(cells, [RawValue::Value(&[0, 0, 0, 7]), RawValue::Null, RawValue::Unset]);
    assert!(Values::EMPTY.is_empty() && Values::EMPTY.iter().next().is_none());
    let none = Values::serialize(&[], &()).unwrap();
    assert_eq!(&none, Values::EMPTY);
}

/// cql 3: named values keep their names, and do not mix with others.
#[test]
fn named_values_have_their_names_before_them() {
    let mut values = Values::default();
    values.push_named("id", &7_i32, &int()).unwrap();
    values.push_named("n", &None::<i32>, &int()).unwrap();
    assert!(values.is_named() && !values.has_unset());
    assert_eq!(values.as_bytes(), golden("0002 'id' 00000004 00000007 0001 'n' FFFFFFFF"));
    let cells: Vec<_> = (&values).into_iter().collect();
    assert_eq!(cells, [RawValue::Value(&[0, 0, 0, 7]), RawValue::Null]);

    let before = values.clone();
    let long = "x".repeat(65_536);
    let error = values.push_named(&long, &1_i32, &int()).unwrap_err();
    assert!(matches!(error, ValuesError::Name(65_536)));
    let wrong = values.push_named("id", &"text", &int()).unwrap_err();
    assert!(matches!(wrong, ValuesError::Serialize(_)));
    assert_eq!(values, before);

    let mut by_position = Values::serialize(&[column("a", int())], &(1_i32,)).unwrap();
    let mixed = by_position.push_named("b", &2_i32, &int()).unwrap_err();
    assert!(matches!(mixed, ValuesError::Mixed));
}

/// cql 3: at most 65535 values; one more is refused, not cut.
#[test]
fn too_many_values_are_refused() {
    let columns = vec![column("a", int()); 65_536];
    let row = vec![None::<i32>; 65_536];
    let most = Values::serialize(&columns[1..], &row[1..].to_vec()).unwrap();
    assert_eq!(most.count(), 65_535);
    let error = Values::serialize(&columns, &row).unwrap_err();
    assert!(matches!(error, ValuesError::TooMany(65_536)));
}

/// cql 3: values that do not fit their columns are refused.
#[test]
fn values_must_fit_their_columns() {
    let columns = [column("a", int())];
    for wrong in [
        Values::serialize(&columns, &(1_i32, 2_i32)),
        Values::serialize(&columns, &("text",)),
        Values::serialize(&columns, &(CqlValue::BigInt(1),)),
        Values::serialize(&columns, &()),
    ] {
        assert!(matches!(wrong, Err(ValuesError::Serialize(_))));
    }
}

/// cql 3: a value of more than 2 GiB is refused by its length, which no request can say; values that are longer than a
/// request may be are refused with both lengths.
#[test]
fn values_that_are_too_long() {
    let columns = [column("content", ColumnType::Native(NativeType::Blob))];
    // Zeros that nobody touches take no memory, and this is refused before it is copied.
    let huge = vec![0_u8; (1 << 31) + 1];
    let error = Values::serialize(&columns, &(&huge,)).unwrap_err();
    let (ValuesError::Serialize(cause), text) = (&error, error.to_string()) else { panic!("{error}") };
    assert!(text.contains("content") || cause.to_string().contains("content"), "{text}: {cause}");
    let error = Values::serialize(&columns, &(&huge[..MAX_BODY],)).unwrap_err();
    assert!(matches!(error, ValuesError::TooLong(length) if length == MAX_BODY + 4), "{error}");
    assert!(error.to_string().contains(&MAX_BODY.to_string()), "{error}");
}

/// A row whose serialization starts cells that it does not write.
struct Miscounting(usize);

impl SerializeRow for Miscounting {
    fn serialize(&self, _: &RowSerializationContext<'_>, writer: &mut RowWriter<'_>) -> Result<(), SerializationError> {
        writer.make_cell_writer().set_null();
        for _ in 0..self.0 {
            let _ = writer.make_cell_writer();
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// cql 3: a serialization that miscounts is found before it is sent.
#[test]
fn a_miscounting_serialization_is_found() {
    assert!(Values::serialize(&[], &Miscounting(0)).is_ok());
    let error = Values::serialize(&[], &Miscounting(1)).unwrap_err();
    assert!(matches!(error, ValuesError::Miscounted(2)));
}
