//! Stories told from outside, one a file.
