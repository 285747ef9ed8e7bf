namespace Tunnel2.FunctionalTests.Differential;

/// <summary>The answer to it.</summary>
internal sealed record PlannedResponse
{
    public (int Status, (string Name, string Value)[] Fields)[] Interims { get; init; } = [];

    public int Status { get; init; } = 200;

    public string Reason { get; init; } = "OK";

    public (string Name, string Value)[] Fields { get; init; } = [];

    public byte[][] Body { get; init; } = [];

    public BodyFraming Framing { get; init; }

    /// <summary>After a chunked body.</summary>
    public (string Name, string Value)[] Trailers { get; init; } = [];

    /// <summary>Whether HTTP/1.1 writes it in very small pieces.</summary>
    public bool IsInSplinters { get; init; }
}
