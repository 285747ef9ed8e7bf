using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>Words of the access log; the same as the metrics' tags.</summary>
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
