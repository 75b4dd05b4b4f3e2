//! Thinks with an OpenAI-compatible chat endpoint.
