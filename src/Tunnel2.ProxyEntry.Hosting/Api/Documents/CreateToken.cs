using System.ComponentModel;
using System.Text.Json.Serialization;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>What a new token is to be.</summary>
internal sealed record CreateToken
{
    [Description("What it is called: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit.")]
    public required string Name { get; init; }

    [Description("The id of the agent, which owns the names; missing: the token's name.")]
    public string? Agent { get; init; }

    [Description("Names and patterns (with *) that it may claim, 1 to 20; they are reserved for the agent.")]
    public required IReadOnlyList<string> Names { get; init; }

    [Description("The tier; missing: that of the agent of the settings with this id, or unlimited.")]
    public string? Tier { get; init; }

    [Description("When it ends, with its offset from UTC; missing: never.")]
    [JsonConverter(typeof(MomentConverter))]
    public DateTimeOffset? Expires { get; init; }
}
