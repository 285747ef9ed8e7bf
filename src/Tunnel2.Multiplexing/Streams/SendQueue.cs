using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.FlowControl;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// What an uplink has to send: the streams that are ready, the control frames, and the credit that the peer has granted for all streams.
/// Any thread adds; the write loop takes. Thread-safe.
/// </summary>
internal sealed class SendQueue
{
    /// <summary>
    /// How many first body bytes may wait with their heads, however much credit there is: 32 MiB, the usual credit of an uplink. More stay
    /// with their producers.
    /// </summary>
    public const int MostWithHeads = ProtocolLimits.DefaultUplinkWindow;

    private readonly ShortLock _creditGate = new();
    private readonly List<TunnelStream> _parked = [];
    private readonly int _initialCredit;
    private SendCredit _credit;
    private int _withHeads;

    /// <param name="settings">The credit to begin with, and where the write loop continues.</param>
    /// <param name="continueInline">Asked at each wake: whether the write loop continues on the waking thread.</param>
    public SendQueue(UplinkSettings settings, Func<bool> continueInline)
    {
        _initialCredit = settings.SendUplinkWindow;
        _credit = new SendCredit(_initialCredit);
        Ready = new ReadyStreamChannel(settings.WriterScheduler, continueInline);
        Control = new ControlQueue(Ready);
    }

    /// <summary>The streams that wait for a turn. The write loop reads it.</summary>
    public ReadyStreamChannel Ready { get; }

    /// <summary>The control frames that wait. The write loop copies them.</summary>
    public ControlQueue Control { get; }

    /// <summary>Streams that wait for credit of the uplink.</summary>
    public int StarvingStreams
    {
        get
        {
            using (_creditGate.EnterScope())
            {
                return _parked.Count;
            }
        }
    }

    /// <summary>Streams that wait for a turn or for credit of the uplink. May be a moment old.</summary>
    public int WaitingStreams => Ready.Count + StarvingStreams;

    /// <summary>Bytes sent that the peer has not consumed yet, as far as its credit says.</summary>
    public long OutstandingBytes
    {
        get
        {
            using (_creditGate.EnterScope())
            {
                return _initialCredit - _credit.Available;
            }
        }
    }

    /// <summary>First body bytes that wait with their heads.</summary>
    public int WaitingWithHeads => Volatile.Read(ref _withHeads);

    /// <summary>Adds a stream that has marked itself ready. Never under a lock: the write loop may run on this thread.</summary>
    public void Add(TunnelStream stream) => Ready.Writer.TryWrite(stream);

    /// <summary>Ends the write loop: it takes nothing more, and what waits is dropped.</summary>
    public void Complete() => Ready.Writer.TryComplete();

    /// <summary>Takes credit of the uplink for a stream.</summary>
    /// <param name="wanted">Bytes, ≥ 1.</param>
    /// <param name="park">A stream to call back (<see cref="TunnelStream.OnUplinkCredit"/>) when none was left, or null.</param>
    public int TakeCredit(int wanted, TunnelStream? park)
    {
        using (_creditGate.EnterScope())
        {
            var granted = _credit.Take(wanted);
            if (granted == 0 && park is not null)
            {
                _parked.Add(park);
            }

            return granted;
        }
    }

    /// <summary>Takes credit of the uplink for first body bytes, which wait with their head until it leaves.</summary>
    /// <param name="wanted">Bytes, ≥ 1.</param>
    public int TakeCreditWithHead(int wanted)
    {
        using (_creditGate.EnterScope())
        {
            var granted = _credit.Take(Math.Min(wanted, Math.Max(0, MostWithHeads - WaitingWithHeads)));
            Interlocked.Add(ref _withHeads, granted);
            return granted;
        }
    }

    /// <summary>Bytes that waited with their head have left, or were dropped.</summary>
    public void OnHeadOver(int count) => Interlocked.Add(ref _withHeads, -count);

    /// <summary>
    /// Adds credit: the peer has granted it, or bytes that had taken it were dropped before they were sent. Never under a stream's lock.
    /// </summary>
    /// <returns>False when it is more than a window can have.</returns>
    public bool TryAddCredit(int count)
    {
        TunnelStream[] woken;
        using (_creditGate.EnterScope())
        {
            if (!_credit.TryAdd(count))
            {
                return false;
            }

            if (_parked.Count == 0)
            {
                return true;
            }

            woken = [.. _parked];
            _parked.Clear();
        }

        foreach (var stream in woken)
        {
            stream.OnUplinkCredit();
        }

        return true;
    }
}
