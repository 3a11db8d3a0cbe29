//! What the end-to-end stories share.
