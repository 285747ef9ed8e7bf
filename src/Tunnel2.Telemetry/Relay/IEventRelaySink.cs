using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Relay;

/// <summary>Receives a relay client's records, on the client's task, in order. Implementations must not block.</summary>
internal interface IEventRelaySink
{
    /// <summary>A record; the payload is valid during the call only.</summary>
    void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload);

    /// <summary>Records that will not come, during a connection or over a reconnect.</summary>
    void OnGap(RingGap gap);

    /// <summary>The server warns that this client is slow: bytes not sent yet, and the limit at which it closes the connection.</summary>
    void OnSlowWarning(long behind, long limit);
}
