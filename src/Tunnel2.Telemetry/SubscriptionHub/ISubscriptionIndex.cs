namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>Says who gets a message that is published on a channel.</summary>
/// <remarks>
/// Every member may be called from any thread at any time. A <see cref="Get"/> that begins after an <see cref="Add"/> has returned finds
/// the subscriber, unless it has been removed; one that runs beside a removal may still find the removed one.
/// </remarks>
internal interface ISubscriptionIndex
{
    /// <summary>Subscribes to a channel, or to a pattern where the index knows patterns.</summary>
    /// <returns><see langword="false"/> when it was subscribed already, or has been removed for good.</returns>
    /// <exception cref="ArgumentException">The name is none that <see cref="ChannelName"/> accepts.</exception>
    bool Add(Subscriber subscriber, string channel);

    /// <summary>Ends one subscription.</summary>
    /// <returns><see langword="false"/> when there was none.</returns>
    bool Remove(Subscriber subscriber, string channel);

    /// <summary>
    /// Ends all subscriptions of a subscriber for good: it cannot subscribe again, so a late message of its cannot leave a ghost.
    /// </summary>
    /// <returns>The number of subscriptions that ended.</returns>
    int RemoveClient(Subscriber subscriber);

    /// <summary>Replaces the contents of <paramref name="matches"/> by the subscribers of a channel.</summary>
    void Get(string channel, SubscriberMatches matches);
}
