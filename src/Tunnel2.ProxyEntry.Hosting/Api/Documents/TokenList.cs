using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The tokens that the server keeps, in the order of their names. Those of the settings are not among them.</summary>
internal sealed record TokenList
{
    [Description("The tokens.")]
    public required IReadOnlyList<TokenInfo> Tokens { get; init; }
}
