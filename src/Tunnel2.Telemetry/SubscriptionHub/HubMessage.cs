namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The latest message of one key of a channel. Immutable.</summary>
/// <param name="Sequence">Its number in the channel, from 1.</param>
/// <param name="Data">The JSON value.</param>
internal sealed record HubMessage(long Sequence, ReadOnlyMemory<byte> Data);
