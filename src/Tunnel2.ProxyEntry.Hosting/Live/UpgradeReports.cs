using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// What reports about an upgraded connection need while it goes on: they are made by a thread that must not ask its exchange. Made for
/// such connections only. Guarded by the watchdog's list once the connection is on it.
/// </summary>
internal sealed class UpgradeReports : RequestNote
{
    private byte[] _target = [];

    /// <summary>A request asks for an upgrade.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="publisher">Who says what of the target is recorded.</param>
    public void Begin(VisitorExchange exchange, RequestPublisher publisher)
    {
        Span<byte> bytes = stackalloc byte[RequestPublisher.MaxTargetLength];
        _target = bytes[..publisher.CopyTarget(exchange, bytes)].ToArray();
        Method = RequestPublisher.MethodOf(exchange);
        Reported(0, 0, 0);
    }

    /// <summary>The connection is over: an idle visitor keeps nothing of it.</summary>
    public void End() => _target = [];

    /// <summary>The request's method.</summary>
    public RequestMethod Method { get; private set; }

    /// <summary>The request's target, cut where a record would cut it.</summary>
    public ReadOnlySpan<byte> Target => _target;

    /// <summary>Until when the connection has been reported; 0 before the first report.</summary>
    public long ReportedAt { get; private set; }

    /// <summary>Body bytes received that have been reported already.</summary>
    public long ReportedIn { get; private set; }

    /// <summary>Body bytes sent that have been reported already.</summary>
    public long ReportedOut { get; private set; }

    /// <summary>The connection has been reported.</summary>
    public void Reported(long at, long bytesIn, long bytesOut) => (ReportedAt, ReportedIn, ReportedOut) = (at, bytesIn, bytesOut);
}
