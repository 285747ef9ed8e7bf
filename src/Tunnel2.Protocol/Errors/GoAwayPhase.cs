namespace Tunnel2.Protocol.Errors;

/// <summary>The two steps of a drain (8 bits in GOAWAY).</summary>
public enum GoAwayPhase : byte
{
    /// <summary>Open no more streams here; those under way, and those that cross this frame, are served.</summary>
    Notice = 1,

    /// <summary>Streams opened from now on are refused; the connection ends when the last one has.</summary>
    Final = 2,
}
