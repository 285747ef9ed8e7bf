using System.Security.Cryptography;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>A message as the other side of the exchange received it.</summary>
internal sealed record SeenMessage
{
    /// <summary>What comes before the fields, one thing a line.</summary>
    public required string[] Start { get; init; }

    public required List<(string Name, string Value)> Fields { get; init; }

    public required byte[] Body { get; init; }

    public List<(string Name, string Value)> Trailers { get; init; } = [];

    /// <summary>The message as lines, to be compared.</summary>
    public List<string> ToLines() =>
    [
        .. Start,
        .. Fields.Select(static field => $"field {field.Name}: {field.Value}"),
        $"body of {Body.Length} bytes, {Convert.ToHexString(SHA256.HashData(Body))}",
        .. Trailers.Select(static field => $"trailer {field.Name}: {field.Value}"),
    ];
}
