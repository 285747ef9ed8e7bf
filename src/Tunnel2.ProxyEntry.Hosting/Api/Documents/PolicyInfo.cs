using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A policy that the server forces, without its rows.</summary>
internal sealed record PolicyInfo
{
    [Description("What it is for: agent, token or name.")]
    public required string Scope { get; init; }

    [Description("The id of the agent, or the name of the token or of the session.")]
    public required string Name { get; init; }

    [Description("How many rows the policy has that the server keeps; 0: there is none.")]
    public required int Rows { get; init; }

    [Description("How many rows the policy of the settings has; 0: there is none.")]
    public required int RowsOfSettings { get; init; }

    [Description("When the kept policy was set; missing: there is none.")]
    public DateTimeOffset? Changed { get; init; }

    [Description("Why the kept policy cannot be used; then every request is refused. Missing: it can.")]
    public string? Problem { get; init; }

    [Description("The sessions for which it holds now.")]
    public required int Sessions { get; init; }
}
