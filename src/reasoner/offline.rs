//! Thinks without network, key or language model.
