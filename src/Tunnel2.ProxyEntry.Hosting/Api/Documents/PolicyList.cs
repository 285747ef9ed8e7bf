using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The policies that the server forces: those that it keeps, and those of the settings.</summary>
internal sealed record PolicyList
{
    [Description("The policies, in the order of scopes and names.")]
    public required IReadOnlyList<PolicyInfo> Policies { get; init; }
}
