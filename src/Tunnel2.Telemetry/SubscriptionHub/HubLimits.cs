namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>Limits of a <see cref="Hub"/>. Immutable.</summary>
internal sealed record HubLimits
{
    /// <summary>How many frames may wait for one client; more are dropped for that client alone. Default 512.</summary>
    internal int QueueFrames { get; init; } = 512;

    /// <summary>How many subscriptions one client may have. Default 100.</summary>
    internal int Subscriptions { get; init; } = 100;

    /// <summary>A client that has sent nothing for this time gets a ping. Default 27 s.</summary>
    internal TimeSpan PingAfter { get; init; } = TimeSpan.FromSeconds(27);

    /// <summary>A client that has sent nothing for this time, not even a pong, is disconnected. Default 30 s.</summary>
    internal TimeSpan SilenceLimit { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>A client whose socket has taken no byte for this time is disconnected. Default 5 s.</summary>
    internal TimeSpan WriteLimit { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Overflows of the queue within this time of the previous one count together; the third closes the connection. Default 10 s.
    /// </summary>
    internal TimeSpan StrikeWindow { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>How many messages a client may send per second, and in a burst. Default 10 and 100.</summary>
    internal int InboundRate { get; init; } = 10;

    /// <summary>See <see cref="InboundRate"/>.</summary>
    internal int InboundBurst { get; init; } = 100;
}
