using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Sums of what uplinks have done and hold. Not thread-safe.</summary>
internal struct UplinkTotals
{
    private long[]? _flushes;

    public bool WasUsed { get; private set; }

    public long Active { get; private set; }

    public long OpenStreams { get; private set; }

    public long WaitingStreams { get; private set; }

    public long Outstanding { get; private set; }

    public long Pending { get; private set; }

    public long WindowGrowth { get; private set; }

    public long Stalled { get; private set; }

    public long Streams { get; private set; }

    public long Sent { get; private set; }

    public long Received { get; private set; }

    public long FramesSent { get; private set; }

    public long FramesReceived { get; private set; }

    public long Receives { get; private set; }

    public long CreditWaits { get; private set; }

    /// <summary>Sends by <see cref="UplinkStatistics.FlushSizeBounds"/>; empty before the first uplink.</summary>
    public readonly ReadOnlySpan<long> Flushes => _flushes;

    /// <summary>A copy with the same numbers; later additions to one do not change the other.</summary>
    public readonly UplinkTotals Copy()
    {
        var copy = this;
        copy._flushes = (long[]?)_flushes?.Clone();
        return copy;
    }

    /// <summary>Adds what an uplink has done so far.</summary>
    public void AddDone(UplinkConnection uplink)
    {
        var done = uplink.Statistics;
        WasUsed = true;
        Sent += done.BytesSent;
        Received += done.BytesReceived;
        FramesSent += done.FramesSent;
        FramesReceived += done.FramesReceived;
        Receives += done.Receives;
        CreditWaits += uplink.Streams.CreditWaits;
        Streams += uplink.Streams.Table.Opened;
        _flushes ??= new long[UplinkStatistics.FlushSizeBounds.Length + 1];
        var sizes = done.FlushSizes;
        for (var i = 0; i < sizes.Length; i++)
        {
            _flushes[i] += sizes[i];
        }
    }

    /// <summary>Adds what an uplink holds now.</summary>
    public void AddPresent(UplinkConnection uplink)
    {
        Active++;
        OpenStreams += uplink.OpenStreams;
        WaitingStreams += uplink.Sending.WaitingStreams;
        Outstanding += uplink.Sending.OutstandingBytes;
        Pending += uplink.Statistics.SendingBytes;
        WindowGrowth += uplink.WindowGrowth.Taken;
        Stalled += uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()) ? 1 : 0;
    }
}
