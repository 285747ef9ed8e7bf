using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A token that the server keeps. The token itself is shown once, when it is made.</summary>
internal sealed record TokenInfo
{
    [Description("What it is called.")]
    public required string Name { get; init; }

    [Description("The id of the agent, which owns the names.")]
    public required string Agent { get; init; }

    [Description("Names and patterns that it may claim.")]
    public required IReadOnlyList<string> Names { get; init; }

    [Description("The tier; missing: that of the agent of the settings with this id, or unlimited.")]
    public string? Tier { get; init; }

    [Description("When it was made.")]
    public required DateTimeOffset Created { get; init; }

    [Description("When it ends; missing: never.")]
    public DateTimeOffset? Expires { get; init; }

    [Description("Whether its time is over.")]
    public required bool Expired { get; init; }

    [Description("When an agent last connected with it; missing: not yet.")]
    public DateTimeOffset? LastUsed { get; init; }

    [Description("Its sessions now.")]
    public required int Sessions { get; init; }
}
