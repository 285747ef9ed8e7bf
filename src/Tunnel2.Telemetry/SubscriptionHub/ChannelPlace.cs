namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The place of one subscriber in one channel: what makes leaving cost the same however many others are there.</summary>
/// <param name="channel">The channel or pattern.</param>
internal sealed class ChannelPlace(ChannelSlots channel)
{
    /// <summary>Gets the channel or pattern.</summary>
    public ChannelSlots Channel { get; } = channel;

    /// <summary>Gets or sets the slot's number; guarded by the channel's lock, because compaction changes it.</summary>
    public int Slot { get; set; }
}
