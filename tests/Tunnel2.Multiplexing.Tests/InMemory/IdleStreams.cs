using System.IO.Pipelines;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Objects of streams for what only keeps them: their uplink does not run.</summary>
internal static class IdleStreams
{
    private static readonly UplinkConnection _uplink = new(
        InMemoryTransport.CreatePair(1024, PipeScheduler.Inline).Left,
        new UplinkSettings { Role = UplinkRole.Entry, Buffers = new BufferPool() });

    public static TunnelStream New() => new(_uplink);
}
