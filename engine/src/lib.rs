//! From requests to outputs: the only door to the models that the server uses.
