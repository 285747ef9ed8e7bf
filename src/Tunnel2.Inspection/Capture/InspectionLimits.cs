namespace Tunnel2.Inspection.Capture;

/// <summary>What an inspected session may hold. Immutable.</summary>
internal sealed record InspectionLimits
{
    /// <summary>The defaults.</summary>
    public static InspectionLimits Default { get; } = new();

    /// <summary>How many exchanges are kept, the last ones.</summary>
    public int Exchanges { get; init; } = 500;

    /// <summary>Bytes of all exchanges together; never exceeded.</summary>
    public long Bytes { get; init; } = 16 * 1024 * 1024;

    /// <summary>Bytes of a body that are kept, for each direction of an exchange.</summary>
    public int BodyBytes { get; init; } = 256 * 1024;

    /// <summary>Messages of an exchange that are kept, the last ones.</summary>
    public int Messages { get; init; } = 200;

    /// <summary>Bytes of a message that are kept.</summary>
    public int MessageBytes { get; init; } = 16 * 1024;
}
