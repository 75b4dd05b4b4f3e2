//! The vectors of multilingual-e5-small's tokens (Wang et al., Multilingual E5 text embeddings, 2024).
//!
//! There are 250,037 of them, five times as much as the layers above: they lie in 4 bits in the binary, and
//! those of a text are made as they are read.

/// Numbers that share a scale.
const BLOCK: usize = 32;
/// A scale in half precision, and two numbers a byte.
const BLOCK_BYTES: usize = 2 + BLOCK / 2;
const BLOCKS: usize = 12;

/// The vectors of these tokens, one behind the other; of a token that there is not, zeros.
pub(super) fn token_rows(tokens: &[i32]) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(tokens.len() * BLOCKS * BLOCK);
    // Within the function: the bytes of a static are copied into the metadata at every build.
    let table: &[u8] = include_bytes!("../../assets/embedding/multilingual/tokens.q4");
    let (blocks, _) = table.as_chunks::<BLOCK_BYTES>();
    for token in tokens {
        let start = usize::try_from(*token).unwrap_or(usize::MAX);
        let start = start.saturating_mul(BLOCKS);
        let row = blocks.get(start..start.saturating_add(BLOCKS));
        let Some(row) = row else {
            numbers.resize(numbers.len() + BLOCKS * BLOCK, 0.0);
            continue;
        };
        for block in row {
            let (scale, pairs) = block.split_at(2);
            let scale = half::f16::from_le_bytes([scale[0], scale[1]]).to_f32();
            let number = |four_bits: u8| (f32::from(four_bits) - 8.0) * scale;
            numbers.extend(pairs.iter().map(|pair| number(pair & 15)));
            numbers.extend(pairs.iter().map(|pair| number(pair >> 4)));
        }
    }
    numbers
}
