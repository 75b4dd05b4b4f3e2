use super::check::Check;
use super::report::Report;
use crate::config::Settings;
use crate::engine::opening::trace_sender;

/// The collector of traces, if there is one.
pub(super) async fn check(settings: &Settings, report: &mut Report<'_>) -> Result<(), Check> {
    report.area = "traces";
    let sender = trace_sender(settings).map_err(|error| {
        let next = "correct KB_AGENT_OTLP_ENDPOINT, and run kb-agent doctor again";
        Check::broken("set-up", error.to_string(), next)
    })?;
    if let Some(sender) = sender {
        let takes = |(): &()| Check::ok("reach", format!("{} takes traces", sender.url()));
        let trying = sender.try_out();
        report
            .try_out("the collector", "reach", trying, takes)
            .await;
    }
    Ok(())
}
