use super::check::Check;
use super::examination::Examination;
use crate::config::Settings;
use crate::engine::opening::trace_sender;

/// The collector of traces, if there is one.
pub(super) async fn check(settings: &Settings, examination: &mut Examination<'_>) {
    examination.area = "traces";
    let sender = match trace_sender(settings) {
        Ok(None) => return,
        Ok(Some(sender)) => sender,
        Err(error) => {
            let next = "correct KB_AGENT_OTLP_ENDPOINT, and run kb-agent doctor again";
            return examination.add(Check::broken("set-up", error.to_string(), next));
        }
    };
    let (taken, took) = examination.timed("the collector", sender.try_out()).await;
    examination.add(match taken {
        Ok(()) => Check::ok("reach", format!("{} takes traces", sender.url())).took(took),
        Err(trouble) => Check::failed("reach", trouble),
    });
}
