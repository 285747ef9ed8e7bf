namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>Finds the subscribers of a channel.</summary>
/// <remarks>
/// Every member may be called from any thread at any time. A <see cref="Get"/> that begins after an <see cref="Add"/> has returned finds
/// the subscriber, unless it was removed. A <see cref="Get"/> that runs during a removal may still find the removed one.
/// </remarks>
internal interface ISubscriptionIndex
{
    /// <summary>Subscribes to a channel, or to a pattern if the index knows patterns.</summary>
    /// <returns><see langword="false"/> when it was already subscribed, or has been removed finally.</returns>
    /// <exception cref="ArgumentException"><see cref="ChannelName"/> does not accept the name.</exception>
    bool Add(Subscriber subscriber, string channel);

    /// <summary>Ends one subscription.</summary>
    /// <returns><see langword="false"/> when there was none.</returns>
    bool Remove(Subscriber subscriber, string channel);

    /// <summary>
    /// Ends all subscriptions of a subscriber, finally: it cannot subscribe again, so a late message of it leaves nothing in the index.
    /// </summary>
    /// <returns>The number of subscriptions that ended.</returns>
    int RemoveClient(Subscriber subscriber);

    /// <summary>Replaces the contents of <paramref name="matches"/> by the subscribers of a channel.</summary>
    void Get(string channel, SubscriberMatches matches);
}
