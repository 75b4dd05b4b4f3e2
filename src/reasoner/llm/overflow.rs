//! How much of a prompt would have fitted, by the sizes that a server names.
//!
//! Some count the reply that was allowed for into what was sent: then less has to be allowed for,
//! and perhaps nothing has to go.

use super::failure::Sizes;

/// A reply for which so little is left would not be worth it.
const SHORTEST_REPLY: u32 = 64;

/// How large the next request may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittingSize {
    /// The share of the prompt that would fit; `None` where the server does not say.
    pub share: Option<f64>,
    /// Where the reply is to end.
    pub max_tokens: u32,
}

/// What would fit; `max_tokens` is what was asked for, and `estimated` about what was sent, where the
/// server does not say.
pub fn size_that_fits(sizes: Sizes, max_tokens: u32, estimated: usize) -> FittingSize {
    let counted_reply = sizes.context.zip(sizes.reply);
    let reply = counted_reply.map(|(context, _)| max_tokens.min((context / 4).max(SHORTEST_REPLY)));
    let sent = sizes.sent.map_or(estimated as f64, f64::from).max(1.0);
    let share = sizes.context.map(|context| {
        let room = context.saturating_sub(reply.unwrap_or_default());
        f64::from(room) / sent
    });
    FittingSize {
        share,
        max_tokens: reply.unwrap_or(max_tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::Wordings;
    use super::*;

    #[test]
    fn what_fits_is_read_from_what_servers_say() {
        let wordings = Wordings::with(None).unwrap();
        for (said, share, max_tokens) in [
            (
                r#"{"error":{"code":400,"message":"request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it","n_ctx":4096,"n_prompt_tokens":9015}}"#,
                Some(4_096.0 / 9_015.0),
                2_000,
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 2000. this model's maximum \
                 context length is 4000 tokens and your request has 2500 input tokens",
                Some(3_000.0 / 2_500.0),
                1_000,
            ),
            (
                "this model's maximum context length is 4097 tokens. however, your messages \
                 resulted in 5200 tokens.",
                Some(4_097.0 / 5_200.0),
                2_000,
            ),
            (
                "range of input length should be [1, 30720]",
                Some(30_720.0 / 40_000.0),
                2_000,
            ),
            ("the prompt is too long", None, 2_000),
        ] {
            assert_eq!(
                size_that_fits(wordings.sizes(said), 2_000, 40_000),
                FittingSize { share, max_tokens },
                "{said}"
            );
        }
    }
}
