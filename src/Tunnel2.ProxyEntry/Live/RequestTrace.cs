using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// What the live plane wants to know of a request beyond what the forwarder keeps anyway. A part of the reused request object: costs
/// nothing but its fields. Used by one request at a time; the interim fields are guarded by the watchdog's list.
/// </summary>
internal sealed class RequestTrace
{
    private TimeProvider? _time;

    /// <summary>The session that serves the request, or null.</summary>
    public EntrySession? Session { get; private set; }

    /// <summary>Slot and generation of the request's stream; 0 when it had none.</summary>
    public uint StreamId { get; private set; }

    /// <summary>The uplink's place among those of the session when the stream was opened.</summary>
    public ushort UplinkId { get; private set; }

    /// <summary>The request's method and target, for reports while it goes on.</summary>
    public string Method { get; private set; } = "";

    /// <summary>See <see cref="Method"/>.</summary>
    public string Target { get; private set; } = "";

    /// <summary>What ProxyEntry answered or aborted for, or null.</summary>
    public ProxyError? Error { get; set; }

    /// <summary>Timestamps of the clock that <see cref="Begin"/> was given; 0 when it has not come to that.</summary>
    public long Started { get; private set; }

    /// <summary>The head was handed to the uplink.</summary>
    public long HeadSent { get; private set; }

    /// <summary>The response's head came.</summary>
    public long ResponseHead { get; private set; }

    /// <summary>Until when the connection has been reported, where it is an upgraded one; 0 before the first report.</summary>
    public long ReportedAt { get; set; }

    /// <summary>Body bytes received that interim reports have told already.</summary>
    public long ReportedIn { get; set; }

    /// <summary>Body bytes sent that interim reports have told already.</summary>
    public long ReportedOut { get; set; }

    /// <summary>A request begins.</summary>
    /// <param name="time">The clock, or null when nobody wants to know.</param>
    /// <param name="started">The clock's timestamp.</param>
    public void Begin(TimeProvider? time, long started)
    {
        _time = time;
        Session = null;
        StreamId = 0;
        UplinkId = 0;
        Error = null;
        Started = started;
        HeadSent = 0;
        ResponseHead = 0;
        ReportedAt = 0;
        ReportedIn = 0;
        ReportedOut = 0;
    }

    /// <summary>The request has its session and stream.</summary>
    public void Attach(EntrySession session, TunnelStream stream, VisitorFacts visitor)
    {
        if (_time is null)
        {
            return;
        }

        Session = session;
        StreamId = stream.Id.Value;
        Method = visitor.Method;
        Target = visitor.Target;
        UplinkId = (ushort)stream.Uplink.Slot;
    }

    public void MarkHeadSent() => HeadSent = _time?.GetTimestamp() ?? 0;

    public void MarkResponseHead() => ResponseHead = _time?.GetTimestamp() ?? 0;

    /// <summary>The request has ended and been told of: nothing of it is held any longer.</summary>
    public void Forget()
    {
        Session = null;
        Method = "";
        Target = "";
    }
}

/// <summary>What of a visitor's request goes into a record.</summary>
internal readonly record struct VisitorFacts(string Method, string Target);
