//! Versions, and what servers say about theirs.

use messina::protocol::ProtocolVersion::{self, V3, V4, V5};
use messina::protocol::version::{highest_common, is_version_error, versions_in_error};

/// cql 1: three versions are spoken, and compare by age.
#[test]
fn versions_are_numbers_and_have_an_order() {
    for version in ProtocolVersion::ALL {
        assert_eq!(ProtocolVersion::try_from(version.as_u8()), Ok(version));
        assert_eq!(version.to_string().parse(), Ok(version));
        assert_eq!(version.as_u8().to_string().parse(), Ok(version));
    }
    assert!(V3 < V4 && V4 < V5);
    let unknown = ProtocolVersion::try_from(6).unwrap_err().to_string();
    assert_eq!(unknown, "protocol version 6 is not known; v3, v4 and v5 are");
    assert!("v6".parse::<ProtocolVersion>().is_err());
    assert!("".parse::<ProtocolVersion>().is_err());
}

/// cql 8: the highest common version of SUPPORTED's list; betas do not count.
/// connect D18: the highest common one up to v5.
#[test]
fn the_highest_common_version_is_found_in_the_list() {
    let cassandra_5 = ["3/v3", "4/v4", "5/v5", "6/v6-beta"];
    assert_eq!(highest_common(&cassandra_5, V5), Some(V5));
    assert_eq!(highest_common(&cassandra_5, V4), Some(V4));
    assert_eq!(highest_common(&["3/v3", "4/v4", "5/v5-beta"], V5), Some(V4));
    assert_eq!(highest_common(&["4/v4", "3/v3"], V5), Some(V4));
    assert_eq!(highest_common(&["6/v6", "7/v7"], V5), None);
    assert_eq!(highest_common(&["", "/", "x/v3", "99999999999999/v4"], V5), None);
    assert_eq!(highest_common::<&str>(&[], V5), None);
}

/// cql 8: the range in the text of a version error, in both forms.
/// connect D18: the range in the error text if it can be read.
#[test]
fn the_versions_in_an_error_are_read() {
    let listed = "Invalid or unsupported protocol version (7); \
                  supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)";
    assert!(is_version_error(listed));
    assert_eq!(versions_in_error(listed), Some(vec![V3, V4, V5]));

    let range = "Invalid or unsupported protocol version (5); \
                 the lowest supported version is 3 and the greatest is 4";
    assert!(is_version_error(range));
    assert_eq!(versions_in_error(range), Some(vec![V3, V4]));

    let too_old = "the lowest supported version is 1 and the greatest is 2";
    assert_eq!(versions_in_error(too_old), Some(vec![]));
    assert_eq!(versions_in_error("supported versions are (6/v6)"), Some(vec![]));

    let refused = "Rejecting Protocol Version 4/v4 < 5/v5.";
    assert!(is_version_error(refused));
    assert_eq!(versions_in_error(refused), Some(vec![V5]));
    assert_eq!(versions_in_error("Rejecting Protocol Version 4/v4 < 6/v6."), Some(vec![]));
    assert_eq!(versions_in_error("Rejecting Protocol Version 4/v4"), None);

    let scylla = "Invalid or unsupported protocol version: 5";
    assert!(is_version_error(scylla));
    assert_eq!(versions_in_error(scylla), None);
    let beta = "Beta version of the protocol used (6/v6-beta), but USE_BETA flag is unset";
    assert!(is_version_error(beta));
    assert!(!is_version_error("Unknown compression algorithm: zzz"));
    for odd in ["supported versions are (3/v3", "lowest supported version is", ""] {
        assert_eq!(versions_in_error(odd), None);
    }
}
