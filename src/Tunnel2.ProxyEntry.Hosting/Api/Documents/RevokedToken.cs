using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A token that was revoked.</summary>
internal sealed record RevokedToken
{
    [Description("What it was called.")]
    public required string Name { get; init; }

    [Description("How many sessions were ended.")]
    public required int SessionsEnded { get; init; }
}
