namespace Tunnel2.Multiplexing.Session;

/// <summary>How busy a session is, for a choice between sessions.</summary>
/// <param name="IsOpen">Whether an uplink takes streams.</param>
/// <param name="IsNear">Whether one of those is on the caller's event loop.</param>
/// <param name="IsStalled">Whether nothing shows that bytes arrive on any of them.</param>
/// <param name="Streams">Open streams on all uplinks.</param>
internal readonly record struct SessionLoad(bool IsOpen, bool IsNear, bool IsStalled, int Streams)
{
    /// <summary>Whether it is busier than another by more streams than chance makes; see <see cref="UplinkLoad.IsFarAbove"/>.</summary>
    public bool IsFarAbove(in SessionLoad other)
    {
        var more = Streams - other.Streams;
        return Streams * 4 > other.Streams * 5 && more * more > other.Streams * 4;
    }
}
