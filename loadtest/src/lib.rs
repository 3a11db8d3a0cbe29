//! Many listeners at once, and what they felt.
