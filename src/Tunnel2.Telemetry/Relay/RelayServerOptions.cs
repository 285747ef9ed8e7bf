using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Telemetry.Relay;

/// <summary>Settings of <see cref="EventRelayServer"/>. Immutable.</summary>
internal sealed record RelayServerOptions
{
    /// <summary>Where to listen. Default: a free port on loopback.</summary>
    internal IPEndPoint Listen { get; init; } = new(IPAddress.Loopback, 0);

    /// <summary>How many clients there may be. Default 64.</summary>
    internal int MaxClients { get; init; } = 64;

    /// <summary>
    /// How many connections that are not clients yet there may be; an address has no more than are free. Others are closed at once.
    /// Default 64.
    /// </summary>
    internal int MaxStrangers { get; init; } = 64;

    /// <summary>
    /// Does the TLS handshake on an accepted socket. Null for a handshake that failed. A peer that sent plaintext gets one answer, over the
    /// transport that is returned for it. Null (default): no TLS.
    /// </summary>
    internal Func<Socket, CancellationToken, Task<(RelayTransport? Transport, bool SentPlaintext)>>? Encrypt { get; init; }

    /// <summary>
    /// Judges the token of a hello, which may be empty, from an address: accepted, not authorized, or "come again later". Null (default):
    /// every client is accepted.
    /// </summary>
    internal Func<IPAddress, ReadOnlyMemory<byte>, RelayStatus>? Admit { get; init; }

    /// <summary>
    /// How many bytes may wait for a client before it is closed; it is warned at half of that. At least 1 MiB; default 8 MiB.
    /// </summary>
    internal long ClientBuffer { get; init; } = 8 * 1024 * 1024;

    /// <summary>Socket send buffer, bytes; 0 (default) leaves it to the system.</summary>
    internal int SendBuffer { get; init; }

    /// <summary>A heartbeat is sent after this time without a record. Default 1 s.</summary>
    internal TimeSpan HeartbeatAfter { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How long a new connection has for its TLS handshake and its hello together. Default 5 s.</summary>
    internal TimeSpan HelloTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Length of the window of the latency metrics. Default 10 s.</summary>
    internal TimeSpan LatencyWindow { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>How often the pump polls before it sleeps. Default 200, about 10 µs.</summary>
    internal int SpinBeforeSleep { get; init; } = 200;

    /// <summary>Like <see cref="EventRing.EventRingReaderOptions.PollEvery"/>, for the pump. Default zero: producers wake it.</summary>
    internal TimeSpan PollEvery { get; init; }

    /// <summary>Called with faults of our own that the relay has survived; null (default): not called. Must not throw.</summary>
    internal Action<Exception>? OnFault { get; init; }
}
