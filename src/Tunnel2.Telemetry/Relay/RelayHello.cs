namespace Tunnel2.Telemetry.Relay;

/// <summary>A client's hello.</summary>
/// <param name="Status">Whether it can be understood; the other values count only where it is accepted.</param>
/// <param name="RingId">The ring that the client knows, or 0.</param>
/// <param name="From">The first number that it wants.</param>
/// <param name="Token">Its token, or empty.</param>
internal readonly record struct RelayHello(RelayStatus Status, ulong RingId, long From, ReadOnlyMemory<byte> Token)
{
    internal static RelayHello Refused(RelayStatus status) => new(status, 0, 0, default);
}
