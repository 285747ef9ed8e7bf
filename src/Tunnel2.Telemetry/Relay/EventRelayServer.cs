using System.Buffers;
using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// Relays a ring over TCP: any number of clients get every record from the number they ask for, or learn what they missed. One thread (the
/// pump) reads the ring, encodes each record once for all clients, and sends without waiting; a slow client affects only itself. Safe on
/// any thread.
/// </summary>
internal sealed partial class EventRelayServer : IAsyncDisposable
{
    private const int BytesPerTurn = 256 * 1024;

    private static readonly TimeSpan _faultPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan _endLimit = TimeSpan.FromSeconds(5);

    private readonly SharedEventRing _ring;
    private readonly RelayServerOptions _options;
    private readonly RelayHistory _history;
    private readonly EventRingReader _reader;
    private readonly Socket _listener;
    private readonly CancellationTokenSource _stop = new();
    private readonly Lock _connectionsLock = new();
    private readonly TimeProvider _time;
    private readonly RelayStrangers _strangers;
    private readonly Thread _pump;
    private readonly Task _accepting;
    private volatile RelayConnection[] _connections = [];
    private long _lastAppend;

    /// <exception cref="SocketException">The address is taken.</exception>
    internal EventRelayServer(SharedEventRing ring, RelayServerOptions options, Meter meter)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(options.ClientBuffer, 2 * RelaySegment.Size);
        _ring = ring;
        _options = options;
        _time = ring.Options.Time;
        _strangers = new RelayStrangers(options.MaxStrangers);
        Metrics = new RelayMetrics(meter, _time, options.LatencyWindow);
        _reader = ring.CreateReader(
            new EventRingReaderOptions { SpinBeforeSleep = options.SpinBeforeSleep, PollEvery = options.PollEvery });
        _history = new RelayHistory(options.ClientBuffer, _reader.Cursor);
        _listener = new Socket(options.Listen.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        _listener.Bind(options.Listen);
        _listener.Listen(128);
        LocalEndPoint = (IPEndPoint)_listener.LocalEndPoint!;
        _pump = new Thread(Pump) { IsBackground = true, Name = "event relay pump" };
        _pump.Start();
        _accepting = AcceptAsync();
    }

    internal RelayMetrics Metrics { get; }

    /// <summary>The address for clients.</summary>
    internal IPEndPoint LocalEndPoint { get; }

    /// <summary>Clients: connections whose hello was accepted.</summary>
    internal int ConnectionCount => _connections.Length;

    /// <summary>Connections that are not clients yet.</summary>
    internal int StrangerCount => _strangers.Count;

    /// <summary>A batch that always fits into one frame.</summary>
    private RingBatch NewBatch() =>
        new(Math.Clamp((RelayFrame.MaxBody - RelayFrame.RecordsHeaderLength) / (_ring.MaxPayload + 12), 1, 512), _ring.MaxPayload);

    /// <summary>Bytes that a client without any interruption would have received so far.</summary>
    internal long StreamPosition => _history.Position;

    private void Pump()
    {
        var batch = NewBatch();
        _lastAppend = _time.GetTimestamp();
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                if (!Turn(batch))
                {
                    break;
                }
            }
            catch (Exception exception)
            {
                // All clients need this thread, so it continues with the next records.
                _options.OnFault?.Invoke(exception);
                Thread.Sleep(_faultPause);
            }
        }

        _reader.Dispose();
        Array.ForEach(_connections, c => c.Close(RelayCloseReason.ServerStopped));
    }

    /// <summary>Moves the available records, or waits briefly for some.</summary>
    /// <returns>False when the ring is closed.</returns>
    private bool Turn(RingBatch batch)
    {
        long start = _time.GetTimestamp();
        RingReadStatus status = Fill(batch);
        if (status is RingReadStatus.Record or RingReadStatus.Gap)
        {
            PushToAll();
            long end = _time.GetTimestamp();
            Metrics.Loop.Add(start, end);
            _lastAppend = end;
            return true;
        }

        if (status == RingReadStatus.Closed)
        {
            return false;
        }

        if (_time.GetElapsedTime(_lastAppend, start) >= _options.HeartbeatAfter)
        {
            _history.Advance(
                RelayFrame.WriteNumbers(_history.GetSpan(64), RelayFrameKind.Heartbeat, _reader.Cursor, 0), _reader.Cursor);
            PushToAll();
            _lastAppend = start;
        }

        _reader.Wait(TimeSpan.FromMilliseconds(100), _stop.Token);
        return true;
    }

    /// <summary>Moves available records, up to one turn's worth, into the stream.</summary>
    private RingReadStatus Fill(RingBatch batch)
    {
        long limit = _history.Position + BytesPerTurn;
        RingReadStatus result = RingReadStatus.Empty;
        while (_history.Position < limit)
        {
            RingReadStatus status = _reader.TryReadBatch(batch, out RingGap gap);
            if (status == RingReadStatus.Record)
            {
                Span<byte> frame = _history.GetSpan(RelayFrame.RecordsBound(batch));
                _history.Advance(RelayFrame.WriteRecords(frame, batch, batch.Count), _reader.Cursor);
                Metrics.Read(batch.Count);
            }
            else if (status == RingReadStatus.Gap)
            {
                _history.Advance(RelayFrame.WriteGap(_history.GetSpan(64), gap), _reader.Cursor);
                Metrics.Missed(gap.Count);
            }
            else
            {
                return result == RingReadStatus.Empty ? status : result;
            }

            result = status;
        }

        return result;
    }

    private void PushToAll()
    {
        long position = _history.Position;
        foreach (RelayConnection connection in _connections)
        {
            try
            {
                connection.Push(position, _options.ClientBuffer);
            }
            catch (Exception exception)
            {
                // How much of it was sent is not known: this client ends, and the others continue.
                _options.OnFault?.Invoke(exception);
                connection.Close(RelayCloseReason.ClientGone);
            }
        }

        _history.Trim();
    }

    /// <summary>
    /// Joins the shared stream at its end, and sends the records between the wanted number and that place directly from the ring. The
    /// stream continues in that time, and the limit for slow clients already applies.
    /// </summary>
    private async Task CatchUpFromRingAsync(RelayConnection connection, ulong ringId, long from)
    {
        if (ringId != 0 && ringId != _ring.Header.RingId)
        {
            from = EventRingReaderOptions.FromOldest;
        }

        while (from <= Volatile.Read(ref _ring.Head) && from > _history.NextSequence)
        {
            // Published, but the pump has not read it yet: joining now would repeat records for this client.
            await Task.Delay(TimeSpan.FromMilliseconds(1), _time, _stop.Token).ConfigureAwait(false);
        }

        Metrics.ClientJoined();
        long joined = _history.Join(connection);
        long start = from switch
        {
            EventRingReaderOptions.FromHead => joined,
            EventRingReaderOptions.FromOldest => Math.Max(0, joined - _ring.Capacity),
            _ => Math.Min(from, joined),
        };
        byte[] welcome = new byte[64];
        await connection.SendAsync(
            welcome.AsMemory(0, RelayFrame.WriteWelcome(welcome, RelayStatus.Accepted, _ring.Header.RingId, start)),
            _stop.Token).ConfigureAwait(false);
        if (start == joined)
        {
            return;
        }

        // A socket refers to the memory of its last send for as long as it is open: here to a buffer that the next client uses too.
        byte[] frame = ArrayPool<byte>.Shared.Rent(RelayFrame.MaxBody);
        using EventRingReader reader = _ring.CreateReader(new EventRingReaderOptions { From = start });
        var batch = NewBatch();
        while (reader.Cursor < joined)
        {
            await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            RingReadStatus status = reader.TryReadBatch(batch, out RingGap gap);
            int length;
            if (status == RingReadStatus.Record)
            {
                int count = (int)Math.Min(batch.Count, joined - batch.Entries[0].Sequence);
                length = RelayFrame.WriteRecords(frame, batch, count);
            }
            else if (status == RingReadStatus.Gap)
            {
                gap = gap with { Count = Math.Min(gap.Count, joined - gap.First) };
                Metrics.Missed(gap.Count);
                length = RelayFrame.WriteGap(frame, gap);
            }
            else
            {
                // A number that the pump skipped as never committed: this reader must wait for the same time limit.
                await Task.Delay(TimeSpan.FromMilliseconds(1), _time, _stop.Token).ConfigureAwait(false);
                continue;
            }

            await connection.SendAsync(frame.AsMemory(0, length), _stop.Token).ConfigureAwait(false);
        }

        // Only here: after a send that failed, it is not known whether the buffer is still in use.
        ArrayPool<byte>.Shared.Return(frame);
    }

    /// <summary>Stops accepting, closes every connection and waits for the pump.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _accepting.ConfigureAwait(false);
        bool ended = await Task.Run(() => _pump.Join(_endLimit)).ConfigureAwait(false);
        Array.ForEach(_connections, c => c.Close(RelayCloseReason.ServerStopped));
        if (ended)
        {
            _stop.Dispose();
        }
    }
}
