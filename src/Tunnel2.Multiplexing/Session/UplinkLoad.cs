using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Multiplexing.Session;

/// <summary>
/// How busy an uplink is, as far as one end can see; the lower, the better for a new stream. Compared member by member, in this order.
/// </summary>
/// <param name="IsStalled">Whether nothing shows that bytes arrive: such an uplink is taken only when there is no other.</param>
/// <param name="Level">
/// Quarters of the uplink's window that are outstanding. Credit comes back by quarters (docs/protocol.md section 7), so that less than one
/// may be credit that was merely not returned yet, and says nothing.
/// </param>
/// <param name="Group">
/// Open streams by <see cref="GroupLength"/>. It comes before <paramref name="Waiting"/>, which is the chance of a moment: many requests
/// at once would follow it to a few uplinks.
/// </param>
/// <param name="Waiting">Streams that wait for their turn or for credit of the uplink.</param>
/// <param name="Streams">Open streams: where the traffic is downloads, this side sends next to nothing, and only their number says
/// something.</param>
/// <param name="Outstanding">Bytes outstanding, exactly.</param>
internal readonly record struct UplinkLoad(bool IsStalled, long Level, int Group, int Waiting, int Streams, long Outstanding)
{
    /// <summary>By so many streams what waits may take one uplink above another: by fours, 40 uploads could be 8, 8, 12 and 12.</summary>
    private const int GroupLength = 3;

    /// <summary>Reads an uplink's load.</summary>
    /// <param name="uplink">The uplink.</param>
    /// <param name="now">A timestamp of the uplink's time provider.</param>
    public static UplinkLoad Of(UplinkConnection uplink, long now)
    {
        var outstanding = uplink.Sending.OutstandingBytes;
        return Of(
            uplink.IsStalled(now),
            outstanding / Math.Max(1, uplink.Settings.SendUplinkWindow / 4),
            uplink.Sending.WaitingStreams,
            uplink.OpenStreams,
            outstanding);
    }

    /// <summary>The same of what was read.</summary>
    public static UplinkLoad Of(bool isStalled, long level, int waiting, int streams, long outstanding) =>
        new(isStalled, level, streams / GroupLength, waiting, streams, outstanding);

    public bool IsBelow(in UplinkLoad other) =>
        IsStalled != other.IsStalled ? other.IsStalled
        : Level != other.Level ? Level < other.Level
        : Group != other.Group ? Group < other.Group
        : Waiting != other.Waiting ? Waiting < other.Waiting
        : Streams != other.Streams ? Streams < other.Streams
        : Outstanding < other.Outstanding;

    /// <summary>
    /// Whether it has fewer open streams, exactly; before that as <see cref="IsBelow"/>. With this one a visitor compares its own uplink:
    /// the one that is best at this moment may have three more.
    /// </summary>
    public bool HasFewerStreamsThan(in UplinkLoad other) =>
        IsStalled != other.IsStalled ? other.IsStalled : Level != other.Level ? Level < other.Level : Streams < other.Streams;

    /// <summary>
    /// Whether it is clearly busier than another: stalled, a quarter of its window more, or more streams by a quarter. An idle uplink is
    /// always worth it: one stalled stream on the other is a reason to go.
    /// </summary>
    public bool IsClearlyAbove(in UplinkLoad other) => HasLessRoomThan(other) || Streams * 4 > other.Streams * 5;

    /// <summary>
    /// Whether it is clearly busier than another, and by more streams than chance makes (twice the square root), as they come and go with
    /// each request.
    /// </summary>
    public bool IsFarAbove(in UplinkLoad other)
    {
        var more = Streams - other.Streams;
        return HasLessRoomThan(other) || (IsClearlyAbove(other) && more * more > other.Streams * 4);
    }

    /// <summary>Whether it is stalled, and the other one is not, or a quarter of its window more is outstanding.</summary>
    public bool HasLessRoomThan(in UplinkLoad other) => (IsStalled && !other.IsStalled) || Level > other.Level;
}
