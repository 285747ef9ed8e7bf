namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>A subscriber to channels: the base of the hub's connections. Belongs to one index for its whole life.</summary>
/// <remarks><see cref="Gate"/> guards the list. It is taken before any channel's lock, and never by a publisher.</remarks>
internal abstract class Subscriber
{
    /// <summary>Gets the lock of this subscriber's own subscriptions.</summary>
    internal Lock Gate { get; } = new();

    /// <summary>Gets the places this subscriber holds, in no order.</summary>
    internal List<ChannelPlace> Places { get; } = [];

    /// <summary>Gets or sets a value indicating whether the subscriber has been removed, which is final.</summary>
    internal bool IsRemoved { get; set; }
}
