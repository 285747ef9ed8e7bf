using System.Net;
using System.Net.Sockets;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Relay;

/// <summary>Settings of <see cref="EventRelayClient"/>. Immutable.</summary>
internal sealed record RelayClientOptions
{
    /// <summary>The relay's address.</summary>
    internal required EndPoint Server { get; init; }

    /// <summary>
    /// Does the TLS handshake on a connected socket; null for a handshake that failed, whose socket still belongs to the client. Null
    /// (default): no TLS.
    /// </summary>
    internal Func<Socket, CancellationToken, Task<RelayTransport?>>? Encrypt { get; init; }

    /// <summary>The token for the relay, at most <see cref="RelayFrame.MaxToken"/> bytes; empty (default) for none.</summary>
    internal ReadOnlyMemory<byte> Token { get; init; }

    /// <summary>Like <see cref="EventRingReaderOptions.From"/>, for the first connection; later ones resume.</summary>
    internal long From { get; init; } = EventRingReaderOptions.FromHead;

    /// <summary>Delay before the first attempt to reconnect; doubles each time. Default 100 ms.</summary>
    internal TimeSpan FirstDelay { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest delay. Default 5 s.</summary>
    internal TimeSpan LongestDelay { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>A connection without any byte for this time is given up. Default 15 s.</summary>
    internal TimeSpan SilenceLimit { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>Size of the receive buffer in bytes; it must hold a whole frame. Default 1 MiB.</summary>
    internal int ReceiveBuffer { get; init; } = 1024 * 1024;

    /// <summary>The kernel's receive buffer, bytes; 0 (default) leaves it to the system.</summary>
    internal int SocketReceiveBuffer { get; init; }

    internal TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>Called when a connection has ended, with the delay before the next attempt.</summary>
    internal Action<RelayClientEnd, TimeSpan>? OnDisconnected { get; init; }

    /// <summary>Called when all received records were passed on and no more are at hand.</summary>
    internal Action? OnIdle { get; init; }

    /// <summary>The delay before attempt <paramref name="attempt"/> (0 = first retry); its upper half is random.</summary>
    internal TimeSpan Delay(int attempt, double random)
    {
        double full = Math.Min(LongestDelay.TotalMilliseconds, FirstDelay.TotalMilliseconds * Math.Pow(2, Math.Min(attempt, 30)));
        return TimeSpan.FromMilliseconds(full * (0.5 + (random / 2)));
    }
}
