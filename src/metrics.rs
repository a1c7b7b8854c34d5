//! Metric names as documented constants, and their handles.
