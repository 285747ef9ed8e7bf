using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Client.Core.Session;

/// <summary>What an attempt to add an uplink to a session gave.</summary>
/// <param name="Transport">The connection, after its WELCOME; null when there is none.</param>
/// <param name="Rest">Bytes that arrived after the WELCOME.</param>
/// <param name="RetryAfter">The shortest wait that the server asks for, or null.</param>
internal readonly record struct JoinOutcome(IUplinkTransport? Transport, ReadOnlyMemory<byte> Rest, TimeSpan? RetryAfter)
{
    public static JoinOutcome Failed(TimeSpan? retryAfter = null) => new(null, default, retryAfter);
}
