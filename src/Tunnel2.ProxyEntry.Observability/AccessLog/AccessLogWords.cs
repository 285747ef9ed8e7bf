using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>The words in lines of the access log; the metrics' tags have the same.</summary>
internal static class AccessLogWords
{
    public static string Of(RequestOutcome outcome) => outcome switch
    {
        RequestOutcome.Completed => "completed",
        RequestOutcome.Upgraded => "upgraded",
        RequestOutcome.Error => "error",
        RequestOutcome.VisitorAborted => "visitor_aborted",
        _ => "aborted",
    };
}
