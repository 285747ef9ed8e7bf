namespace Tunnel2.TestUtilities;

/// <summary>How the other side ended a connection or a body.</summary>
public enum ConnectionEnding
{
    /// <summary>It has not.</summary>
    Open,

    /// <summary>A body came to the end that its framing announced.</summary>
    Complete,

    /// <summary>The stream ended in order (FIN) — for a body with a framing: before its end.</summary>
    Fin,

    /// <summary>The connection was reset (RST).</summary>
    Reset,

    /// <summary>The bytes break the framing (a chunk's length is no number, or its end is missing).</summary>
    Malformed,
}
