namespace Tunnel2.FunctionalTests.Differential;

/// <summary>An exchange that is sent twice: to the service, and through the tunnel.</summary>
internal sealed record PlannedExchange
{
    /// <summary>The field by which a service knows the exchange.</summary>
    public const string NumberField = "x-exchange";

    public required int Number { get; init; }

    public string Method { get; init; } = "GET";

    public string Target { get; init; } = "/";

    /// <summary>Whether HTTP/1.1 sends the target with scheme and host; <c>*</c> is then sent as these alone.</summary>
    public bool IsAbsolute { get; init; }

    /// <summary>Fields as HTTP/1.1 has them; HTTP/2 sends their names in lower case, and none of a connection.</summary>
    public (string Name, string Value)[] Fields { get; init; } = [];

    /// <summary>The pieces of the body; null: there is none.</summary>
    public byte[][]? Body { get; init; }

    /// <summary>Whether the body's length is declared.</summary>
    public bool DeclaresLength { get; init; }

    public (string Name, string Value)[] Trailers { get; init; } = [];

    /// <summary>Whether the service answers before it has read the body.</summary>
    public bool IsAnsweredEarly { get; init; }

    public required PlannedResponse Response { get; init; }

    public override string ToString() => $"exchange {Number}: {Method} {Target} answered {Response.Status} ({Response.Framing})";
}
