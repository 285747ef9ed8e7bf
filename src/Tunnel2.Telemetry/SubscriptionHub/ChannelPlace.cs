namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The place of one subscriber in one channel. With it the cost of leaving does not depend on the number of subscribers.</summary>
/// <param name="channel">The channel or pattern.</param>
internal sealed class ChannelPlace(ChannelSlots channel)
{
    /// <summary>Gets the channel or pattern.</summary>
    public ChannelSlots Channel { get; } = channel;

    /// <summary>Gets or sets the slot's number; the channel's lock guards it, because compaction changes it.</summary>
    public int Slot { get; set; }
}
