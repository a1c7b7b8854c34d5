//! Contact points and endpoints: who is meant, and where to dial.
