namespace Tunnel2.TestUtilities;

/// <summary>How a connection is cut.</summary>
public enum CutMode
{
    /// <summary>Both sides see the orderly end of the stream (FIN).</summary>
    Fin,

    /// <summary>Both sides see a reset (RST).</summary>
    Reset,
}
