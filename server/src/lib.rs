//! Sockets, tasks and time: HTTP and WebSocket doors, and the command line.
