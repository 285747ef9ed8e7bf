using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// An uplink as its streams know it: their slots and objects, what waits to be sent, and the credit that they share. The loops of the
/// uplink work on it from above. Thread-safe.
/// </summary>
internal sealed class UplinkStreams
{
    private volatile Action? _slotFreed;
    private long _creditWaits;

    /// <param name="settings">What the handshake settled.</param>
    public UplinkStreams(UplinkSettings settings)
    {
        Settings = settings;
        Table = new StreamTable(settings.MaxStreams);
        RoundTrip = new RoundTripEstimator(settings.TimeProvider);

        // However slow the readers of grown windows are, half of the uplink's credit is left for the others.
        WindowGrowth = new WindowBudget(settings.ReceiveUplinkWindow / 2, settings.ProcessWindowBudget);
        Sending = new SendQueue(settings, () => !IsWakingReaders && Table.Count <= Settings.QuietStreams);
        ReceiveCredit = new UplinkReceiveCredit(this);
        Pool = new StreamPool(this);
    }

    public UplinkSettings Settings { get; }

    /// <summary>Which of its session's uplinks this is: the lowest number that was free when it came. 0 without a session.</summary>
    public int Slot { get; set; }

    /// <summary>The streams that are open, by slot.</summary>
    public StreamTable Table { get; }

    /// <summary>The objects of the streams.</summary>
    public StreamPool Pool { get; }

    /// <summary>What waits for the write loop, and the credit that the peer has granted for all streams.</summary>
    public SendQueue Sending { get; }

    /// <summary>The credit that the peer has from this side for all streams.</summary>
    public UplinkReceiveCredit ReceiveCredit { get; }

    public RoundTripEstimator RoundTrip { get; }

    /// <summary>What the windows of these streams may grow by.</summary>
    public WindowBudget WindowGrowth { get; }

    /// <summary>How often a stream had bytes to send and no credit for them.</summary>
    public long CreditWaits => Volatile.Read(ref _creditWaits);

    /// <summary>
    /// Whether the uplink's reader wakes the streams' readers after a receive. What these give the write loop then waits for the end of
    /// the round. Another thread may see it late; that costs a round.
    /// </summary>
    public bool IsWakingReaders { get; set; }

    /// <summary>While it is set: called on a thread of the pool each time a slot is free again. An uplink that drains sets it.</summary>
    public Action? SlotFreed
    {
        get => _slotFreed;
        set => _slotFreed = value;
    }

    /// <summary>A stream begins to wait for credit: rare, and on any thread.</summary>
    public void CountCreditWait() => Interlocked.Increment(ref _creditWaits);

    /// <summary>Measures the round trip if it is time to. Never under a lock: the write loop may run on this thread.</summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    public void ProbeRoundTrip(long now)
    {
        if (RoundTrip.TryBegin(now, out var opaque))
        {
            Sending.Control.AddPing(opaque);
        }
    }

    /// <summary>Both directions of a stream are over.</summary>
    public void FreeSlot(StreamId id)
    {
        Table.Free(id);
        ReportFreed();
    }

    /// <summary>A stream of which nothing was ever sent is over.</summary>
    public void AbandonSlot(StreamId id)
    {
        Table.Abandon(id);
        ReportFreed();
    }

    /// <summary>The caller holds a stream's lock, under which no uplink may end: so it is reported from another thread.</summary>
    private void ReportFreed()
    {
        if (_slotFreed is { } freed)
        {
            ThreadPool.UnsafeQueueUserWorkItem(static report => report(), freed, preferLocal: false);
        }
    }
}
