using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>One connection of a session.</summary>
internal sealed record UplinkInfo
{
    [Description("Its number within the session.")]
    public required int Slot { get; init; }

    [Description("The agent's address.")]
    public required string Remote { get; init; }

    [Description("The last round trip, ms; missing before the first.")]
    public double? RoundTripMs { get; init; }

    [Description("Requests under way on it.")]
    public required int OpenStreams { get; init; }

    [Description("Bytes sent to the agent.")]
    public required long Sent { get; init; }

    [Description("Bytes received from the agent.")]
    public required long Received { get; init; }

    [Description("Whether bytes are under way and nothing says that they arrive.")]
    public required bool Stalled { get; init; }
}
