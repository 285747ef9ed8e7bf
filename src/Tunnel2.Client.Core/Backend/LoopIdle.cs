using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>Idle connections that live on one event loop, or, where there are no loops, all of them.</summary>
/// <param name="loop">The loop; null: there are none.</param>
/// <param name="timeProvider">The clock.</param>
internal sealed class LoopIdle(EpollLoop? loop, TimeProvider timeProvider)
{
    /// <summary>Guards what is here, and the lists' connections as far as they belong to those. Nothing else is taken under it.</summary>
    public ShortLock Gate { get; } = new();

    /// <summary>Those that may be used at once.</summary>
    public IdleList Ready { get; } = new();

    /// <summary>Those that rest first.</summary>
    public IdleList Resting { get; } = new();

    /// <summary>Begins new ones here; null where there are no loops.</summary>
    public LoopOpenings? Openings { get; } = loop is null ? null : new LoopOpenings(loop, timeProvider);

    /// <summary>Whether no uplink lives on the loop any more while others are elsewhere.</summary>
    public bool IsLeft { get; set; }

    /// <summary>The tunnel's uplinks on the loop. Guarded by the gate of uplinks of <see cref="IdleConnections"/>.</summary>
    public int Uplinks { get; set; }

    /// <summary>Connections kept here; without the gate about right.</summary>
    public int Count => Ready.Count + Resting.Count;
}
