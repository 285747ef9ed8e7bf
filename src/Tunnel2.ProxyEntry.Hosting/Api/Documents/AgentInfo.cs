using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>An agent that may connect.</summary>
internal sealed record AgentInfo
{
    [Description("Its id, which owns its names.")]
    public required string Id { get; init; }

    [Description("Names and patterns that it may claim; none: any that no other agent has.")]
    public required IReadOnlyList<string> Names { get; init; }

    [Description("Its tier; missing: unlimited.")]
    public string? Tier { get; init; }

    [Description("Whether it may show a certificate instead of a token.")]
    public required bool HasCertificate { get; init; }

    [Description("Its sessions now.")]
    public required int Sessions { get; init; }
}
