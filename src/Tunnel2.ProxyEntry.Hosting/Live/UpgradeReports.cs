using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// The data for reports about an open upgraded connection: another thread makes them, and it must not use the exchange. Only such
/// connections have it. The watchdog's list guards it while the connection is on the list.
/// </summary>
internal sealed class UpgradeReports : RequestNote
{
    private byte[] _target = [];

    /// <summary>A request asks for an upgrade.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="publisher">Decides how much of the target is recorded.</param>
    public void Begin(VisitorExchange exchange, RequestPublisher publisher)
    {
        Span<byte> bytes = stackalloc byte[RequestPublisher.MaxTargetLength];
        _target = bytes[..publisher.CopyTarget(exchange, bytes)].ToArray();
        Method = RequestPublisher.MethodOf(exchange);
        Reported(0, 0, 0);
    }

    /// <summary>The connection is over: an idle visitor's connection keeps no target.</summary>
    public void End() => _target = [];

    /// <summary>The request's method.</summary>
    public RequestMethod Method { get; private set; }

    /// <summary>The request's target, cut as in a record.</summary>
    public ReadOnlySpan<byte> Target => _target;

    /// <summary>The end of the time that was already reported; 0 before the first report.</summary>
    public long ReportedAt { get; private set; }

    /// <summary>Received body bytes that were already reported.</summary>
    public long ReportedIn { get; private set; }

    /// <summary>Sent body bytes that were already reported.</summary>
    public long ReportedOut { get; private set; }

    /// <summary>A report was made.</summary>
    public void Reported(long at, long bytesIn, long bytesOut) => (ReportedAt, ReportedIn, ReportedOut) = (at, bytesIn, bytesOut);
}
