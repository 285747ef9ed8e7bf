using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Replays;

/// <summary>A request that is sent again, as it was or as a person has changed it. Immutable.</summary>
internal sealed record ReplayRequest
{
    /// <summary>The exchange that is repeated.</summary>
    public required long Source { get; init; }

    /// <summary>Host and port that it calls: those of that exchange's visitor, or others that a person has given.</summary>
    public string Authority { get; init; } = "";

    /// <summary>Whether a person has given another host than that of the visitor.</summary>
    public bool HasOtherHost { get; init; }

    /// <summary>Whether that visitor called with TLS, here or at a trusted proxy.</summary>
    public bool IsSecure { get; init; }

    /// <summary>The method: a token.</summary>
    public required byte[] Method { get; init; }

    /// <summary>The target: a path, or an asterisk.</summary>
    public required byte[] Target { get; init; }

    /// <summary>The fields in their order: none of the connection's, and without those that the tunnel adds.</summary>
    public required IReadOnlyList<HeadField> Fields { get; init; }

    /// <summary>The whole body.</summary>
    public required byte[] Body { get; init; }

    /// <summary>What follows the body, in order. With it no length is declared: only a chunked body has a place for trailers.</summary>
    public IReadOnlyList<HeadField> Trailers { get; init; } = [];

    /// <summary>Whether a body's length was declared; otherwise it is sent in chunks.</summary>
    public required bool HasLength { get; init; }
}
