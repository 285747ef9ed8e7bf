using System.IO.Pipelines;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>What an uplink and its streams need to know, from the handshake and the host. Immutable.</summary>
internal sealed record UplinkSettings
{
    /// <summary>The largest window by default: 8 MiB, which is 1.3 Gbit/s at a round trip of 50 ms.</summary>
    public const int DefaultMaxStreamWindow = 8 * 1024 * 1024;

    public required UplinkRole Role { get; init; }

    /// <summary>Whether it is a node link, whose requests have a first hop (docs/protocol.md section 16).</summary>
    public bool IsNodeLink { get; init; }

    /// <summary>The credit granted to the peer for each new stream, in bytes.</summary>
    public int ReceiveStreamWindow { get; init; } = ProtocolLimits.DefaultStreamWindow;

    /// <summary>The credit granted to the peer for the uplink, in bytes.</summary>
    public int ReceiveUplinkWindow { get; init; } = ProtocolLimits.DefaultUplinkWindow;

    /// <summary>
    /// What a stream's window may grow to where measurements show that the path needs it, in bytes. At or below
    /// <see cref="ReceiveStreamWindow"/>: nothing grows, and nothing is measured for it.
    /// </summary>
    public int MaxReceiveStreamWindow { get; init; } = DefaultMaxStreamWindow;

    /// <summary>What the windows of all uplinks of the process may grow by.</summary>
    public WindowBudget ProcessWindowBudget { get; init; } = WindowBudget.Process;

    /// <summary>The process's memory for bytes that have arrived and are not consumed yet.</summary>
    public ReceiveBudget ReceiveBudget { get; init; } = ReceiveBudget.Process;

    /// <summary>The credit that the peer grants for each new stream, in bytes.</summary>
    public int SendStreamWindow { get; init; } = ProtocolLimits.DefaultStreamWindow;

    /// <summary>The credit that the peer grants for the uplink, in bytes.</summary>
    public int SendUplinkWindow { get; init; } = ProtocolLimits.DefaultUplinkWindow;

    /// <summary>How many streams may be open at once, and so the number of slots.</summary>
    public int MaxStreams { get; init; } = ProtocolLimits.MaxSlots;

    /// <summary>Where the write loop continues when it is woken and more than <see cref="QuietStreams"/> streams are open.</summary>
    public PipeScheduler WriterScheduler { get; init; } = PipeScheduler.ThreadPool;

    /// <summary>
    /// Up to this many open streams the write loop runs on the thread that woke it: where no other stream shares the batch, waiting for one
    /// only costs time. Negative: never.
    /// </summary>
    public int QuietStreams { get; init; } = -1;

    /// <summary>
    /// Whether those that wait on a stream continue on the thread that completed the wait (the reader's or the write loop's). Only where
    /// nothing blocks: the epoll engine.
    /// </summary>
    public bool InlineContinuations { get; init; }

    /// <summary>A PING is sent after this much inbound silence.</summary>
    public TimeSpan PingAfter { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The peer counts as dead after this much inbound silence.</summary>
    public TimeSpan DeadAfter { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// After bytes of streams were sent and nothing has arrived for this long, a PING asks for a sign of life: that is how a stall is seen
    /// long before the peer counts as dead.
    /// </summary>
    public TimeSpan ProbeAfter { get; init; } = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// A send that has not ended, or a PING without an answer, for this long: the uplink counts as stalled and gets no new streams.
    /// </summary>
    public TimeSpan StallAfter { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>A send that takes longer ends the uplink: what it has cut in half can never be resumed.</summary>
    public TimeSpan SendStallLimit { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary>Whether windows of streams may grow.</summary>
    public bool GrowsWindows => MaxReceiveStreamWindow > ReceiveStreamWindow;

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    public BufferPool Buffers { get; init; } = BufferPool.Shared;

    /// <summary>Where faults of callbacks for a reset or a loss are counted: the engine's.</summary>
    public ContainedFaults Faults { get; init; } = new();
}
