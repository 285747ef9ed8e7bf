using System.ComponentModel;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The policies that the server forces for one agent, token or name.</summary>
internal sealed record PolicyDocument
{
    [Description("What it says without the rows.")]
    public required PolicyInfo Info { get; init; }

    [Description("The rows of the kept policy, as a file has them; missing: there is none.")]
    public JsonElement? Policy { get; init; }

    [Description("The rows of the settings' policy, which holds too and cannot be changed here; missing: there is none.")]
    public JsonElement? OfSettings { get; init; }
}
