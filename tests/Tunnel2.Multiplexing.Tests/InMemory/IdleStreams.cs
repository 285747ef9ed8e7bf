using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Objects of streams for tests of what only keeps them. No uplink runs.</summary>
internal static class IdleStreams
{
    private static readonly UplinkStreams _uplink = new(new UplinkSettings { Role = UplinkRole.Entry, Buffers = new BufferPool() });

    public static TunnelStream New() => new(_uplink);
}
