//! Texts to vectors, by a sentence embedding carried in the binary.
