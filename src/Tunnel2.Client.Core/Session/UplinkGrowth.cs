namespace Tunnel2.Client.Core.Session;

/// <summary>
/// How many uplinks a session should have with <c>--uplinks auto</c>. Every further uplink makes the batches of the others smaller, and on
/// a short path that is all it does (docs/measurements), so there is one until there is a reason: no uplink gets anything through, the
/// path loses segments while several streams share it, or it is long and stays full. Without a reason for a while, the idle ones go again.
/// Not thread-safe.
/// </summary>
internal sealed class UplinkGrowth
{
    /// <summary>Below this round trip neither loss nor a full window is cured by a further connection.</summary>
    public static readonly TimeSpan LongPath = TimeSpan.FromMilliseconds(5);

    /// <summary>How long a reason must last, a stall apart.</summary>
    public static readonly TimeSpan Sustained = TimeSpan.FromSeconds(2);

    /// <summary>Between two steps, so that the last one can show what it is good for.</summary>
    public static readonly TimeSpan Settling = TimeSpan.FromSeconds(5);

    /// <summary>How long nothing may have asked for more before an idle uplink goes.</summary>
    public static readonly TimeSpan Calm = TimeSpan.FromSeconds(30);

    /// <summary>Segments sent again within one look that count as loss: one or two are everyday.</summary>
    public const int LossSegments = 3;

    /// <summary>A session that moves at most this many bytes per second counts as idle.</summary>
    public const long IdleBytesPerSecond = 64 * 1024;

    private readonly TimeProvider _time;
    private readonly int _most;
    private readonly Dictionary<object, UplinkSample> _before = [];
    private long _lastLook;
    private long? _reasonSince;
    private long? _lastStep;
    private long? _calmSince;

    /// <summary>Makes one for a session that has one uplink.</summary>
    /// <param name="time">The clock.</param>
    /// <param name="most">How many uplinks there may be, at least 1.</param>
    public UplinkGrowth(TimeProvider time, int most)
    {
        _time = time;
        _most = most;
        _lastLook = time.GetTimestamp();
    }

    /// <summary>Looks at the uplinks, a few times a second, and says how many there should be.</summary>
    /// <param name="uplinks">Those that take streams.</param>
    /// <param name="wanted">How many there should have been until now.</param>
    /// <returns>One more, one less, or the same; 1 to the maximum.</returns>
    public int Decide(ReadOnlySpan<UplinkSample> uplinks, int wanted)
    {
        var now = _time.GetTimestamp();
        var elapsed = _time.GetElapsedTime(_lastLook, now);
        _lastLook = now;
        var (isLost, isFull, moved) = Compare(uplinks);
        var isSettled = _lastStep is not { } step || _time.GetElapsedTime(step, now) >= Settling;
        if (uplinks.Length > 0 && IsAllStalled(uplinks))
        {
            _calmSince = null;
            return isSettled && uplinks.Length >= wanted ? Step(now, Math.Min(wanted + 1, _most), wanted) : wanted;
        }

        if (isLost || isFull)
        {
            _calmSince = null;
            _reasonSince ??= now;
            return isSettled && uplinks.Length >= wanted && _time.GetElapsedTime(_reasonSince.Value, now) >= Sustained
                ? Step(now, Math.Min(wanted + 1, _most), wanted)
                : wanted;
        }

        _reasonSince = null;
        if (moved > IdleBytesPerSecond * Math.Max(elapsed.TotalSeconds, 0.001))
        {
            _calmSince = null;
            return wanted;
        }

        _calmSince ??= now;
        return wanted > 1 && isSettled && _time.GetElapsedTime(_calmSince.Value, now) >= Calm ? Step(now, wanted - 1, wanted) : wanted;
    }

    private int Step(long now, int next, int wanted)
    {
        if (next != wanted)
        {
            _lastStep = now;
            _reasonSince = null;
        }

        return next;
    }

    private (bool IsLost, bool IsFull, long Moved) Compare(ReadOnlySpan<UplinkSample> uplinks)
    {
        var isLost = false;
        var isFull = false;
        long moved = 0;
        foreach (var uplink in uplinks)
        {
            var isShared = uplink.OpenStreams > 1;
            var isLong = uplink.RoundTrip >= LongPath;
            if (_before.TryGetValue(uplink.Uplink, out var before))
            {
                moved += uplink.BytesMoved - before.BytesMoved;
                isLost |= isShared && isLong && uplink.Retransmitted - before.Retransmitted >= LossSegments;
                isFull |= isShared && isLong && (uplink.OutstandingShare >= 0.5 || (uplink.IsSending && before.IsSending));
            }
        }

        _before.Clear();
        foreach (var uplink in uplinks)
        {
            _before[uplink.Uplink] = uplink;
        }

        return (isLost, isFull, moved);
    }

    private static bool IsAllStalled(ReadOnlySpan<UplinkSample> uplinks)
    {
        foreach (var uplink in uplinks)
        {
            if (!uplink.IsStalled)
            {
                return false;
            }
        }

        return true;
    }
}
