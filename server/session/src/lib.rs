//! A conversation as a state machine: no socket, no thread, no clock.
