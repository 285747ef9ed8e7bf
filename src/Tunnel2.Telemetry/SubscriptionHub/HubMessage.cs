namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The latest message of one key of a channel. Its data never change; the channel adds the rest once, with the store's lock held.
/// </summary>
/// <param name="data">The JSON value.</param>
internal sealed class HubMessage(ReadOnlyMemory<byte> data)
{
    /// <summary>The JSON value.</summary>
    internal ReadOnlyMemory<byte> Data { get; } = data;

    /// <summary>Its number in the channel, from 1. 0: the channel had been removed before, and no subscriber got it.</summary>
    internal long Sequence { get; set; }

    /// <summary>For how many clients it was queued.</summary>
    internal int Receivers { get; set; }
}
