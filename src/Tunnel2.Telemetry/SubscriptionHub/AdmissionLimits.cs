namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The shares of a resource at which an <see cref="AdmissionGuard"/> acts; each 0 to 1.</summary>
/// <param name="Reject">Above this use new connections are refused.</param>
/// <param name="Accept">After that, they are admitted again at this use or less. Below <paramref name="Reject"/>.</param>
internal readonly record struct ShareLimits(double Reject, double Accept)
{
    /// <summary>Above this use, halfway between the two, slow subscribers are paused.</summary>
    internal double Pause => (Reject + Accept) / 2;
}

/// <summary>The limits of an <see cref="AdmissionGuard"/>, except the number of connections, which may change. Immutable.</summary>
internal sealed record AdmissionLimits
{
    /// <summary>New connections a second in all, in bursts of twice as many. Default 1000.</summary>
    internal int ConnectionsPerSecond { get; init; } = 1000;

    /// <summary>New connections a second from one address, in bursts of twice as many. Default 100.</summary>
    internal int ConnectionsPerAddress { get; init; } = 100;

    /// <summary>Threads of this process; after more, connections are admitted again at nine tenths. Default 1000.</summary>
    internal int Threads { get; init; } = 1000;

    /// <summary>Shares of the container's memory. Default 0.75 and 0.65.</summary>
    internal ShareLimits Memory { get; init; } = new(0.75, 0.65);

    /// <summary>Shares of the container's processors. Default 0.75 and 0.65.</summary>
    internal ShareLimits Cpu { get; init; } = new(0.75, 0.65);

    /// <summary>The share of each reading in the smoothed use; 1: the reading itself. Default 0.3.</summary>
    internal double Smoothing { get; init; } = 0.3;
}
