namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>Limits of a <see cref="Hub"/>. Immutable.</summary>
internal sealed record HubLimits
{
    /// <summary>Frames that may wait for one client; more are dropped for it alone. Default 512.</summary>
    internal int QueueFrames { get; init; } = 512;

    /// <summary>Subscriptions of one client. Default 100.</summary>
    internal int Subscriptions { get; init; } = 100;

    /// <summary>A client that said nothing for so long is sent a ping. Default 27 s.</summary>
    internal TimeSpan PingAfter { get; init; } = TimeSpan.FromSeconds(27);

    /// <summary>A client that said nothing for so long, not even a pong, is cut off. Default 30 s.</summary>
    internal TimeSpan SilenceLimit { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>A client whose socket takes nothing for so long is cut off. Default 5 s.</summary>
    internal TimeSpan WriteLimit { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Overflows of the queue that follow each other within this time are strikes in a row; the third closes. Default 10 s.
    /// </summary>
    internal TimeSpan StrikeWindow { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Messages that a client may send a second, and at once. Default 10 and 100.</summary>
    internal int InboundRate { get; init; } = 10;

    /// <summary>See <see cref="InboundRate"/>.</summary>
    internal int InboundBurst { get; init; } = 100;
}
