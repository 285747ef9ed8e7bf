using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A new token.</summary>
internal sealed record NewToken
{
    [Description("The token, shown this once.")]
    public required string Token { get; init; }

    [Description("What it is.")]
    public required TokenInfo Info { get; init; }
}
