//! The command line of Promenade.

fn main() {}
