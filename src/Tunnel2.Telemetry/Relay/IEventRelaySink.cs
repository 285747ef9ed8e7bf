using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Relay;

/// <summary>What a relay client hands on, on its own task, in order. Implementations must not block.</summary>
internal interface IEventRelaySink
{
    /// <summary>A record; the payload is valid during the call only.</summary>
    void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload);

    /// <summary>Records that will not come, while connected or across a reconnect.</summary>
    void OnGap(RingGap gap);

    /// <summary>The server finds this client slow: bytes behind, and the limit at which it will be closed.</summary>
    void OnSlowWarning(long behind, long limit);
}
