using System.Net;

namespace Tunnel2.Telemetry.Relay;

/// <summary>Settings of <see cref="EventRelayServer"/>. Immutable.</summary>
internal sealed record RelayServerOptions
{
    /// <summary>Where to listen. Default: a free port on loopback. The relay has no authentication of its own.</summary>
    internal IPEndPoint Listen { get; init; } = new(IPAddress.Loopback, 0);

    /// <summary>Default 64.</summary>
    internal int MaxClients { get; init; } = 64;

    /// <summary>Bytes a client may lag behind before it is closed; it is warned at half of it. At least 1 MiB; default 8 MiB.</summary>
    internal long ClientBuffer { get; init; } = 8 * 1024 * 1024;

    /// <summary>Socket send buffer, bytes; 0 (default) leaves it to the system.</summary>
    internal int SendBuffer { get; init; }

    /// <summary>A heartbeat goes out after so much silence. Default 1 s.</summary>
    internal TimeSpan HeartbeatAfter { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How long a new connection has for its hello. Default 5 s.</summary>
    internal TimeSpan HelloTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Length of the window over which latencies are summed up. Default 10 s.</summary>
    internal TimeSpan LatencyWindow { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Polls before the pump sleeps. Default 200, about 10 µs.</summary>
    internal int SpinBeforeSleep { get; init; } = 200;

    /// <summary>As <see cref="EventRing.EventRingReaderOptions.PollEvery"/>, for the pump. Default zero: woken by producers.</summary>
    internal TimeSpan PollEvery { get; init; }

    /// <summary>Told of faults of our own that the relay has survived; null (default): nobody is. Must not throw.</summary>
    internal Action<Exception>? OnFault { get; init; }
}
