using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>An error, as RFC 9457 has it.</summary>
internal sealed record Problem
{
    [Description("Names the kind of error; a name, not an address.")]
    public required string Type { get; init; }

    [Description("The status in words.")]
    public required string Title { get; init; }

    [Description("The status.")]
    public required int Status { get; init; }

    [Description("What is wrong, for people.")]
    public required string Detail { get; init; }

    [Description("What is wrong, for programs: docs/api.md lists the codes.")]
    public required string Code { get; init; }

    [Description("All that is wrong, where it can be more than one thing.")]
    public IReadOnlyList<string>? Mistakes { get; init; }
}
