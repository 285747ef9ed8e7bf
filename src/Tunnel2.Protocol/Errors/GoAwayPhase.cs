namespace Tunnel2.Protocol.Errors;

/// <summary>The two steps of a drain (8 bits in GOAWAY).</summary>
public enum GoAwayPhase : byte
{
    /// <summary>
    /// The receiver must open no more streams here; running ones, and those that cross this frame on the way, are served.
    /// </summary>
    Notice = 1,

    /// <summary>Streams opened from now on are refused; the connection ends with the last one.</summary>
    Final = 2,
}
