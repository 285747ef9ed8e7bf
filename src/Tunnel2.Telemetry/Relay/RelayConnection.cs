namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// One client of the relay. While its socket takes all bytes at once, the pump sends to it directly and without waiting. When the socket is
/// full, or the connection is encrypted, the connection's own task sends until it has caught up with the stream, and the pump does not
/// send to it.
/// </summary>
internal sealed class RelayConnection : IAsyncDisposable
{
    private const int MostHeard = 64 * 1024;

    private readonly Lock _gate = new();
    private readonly RelayTransport _transport;
    private readonly RelayMetrics _metrics;
    private readonly TimeProvider _time;
    private readonly byte[] _frame = new byte[64];
    private Task _catchingUp = Task.CompletedTask;
    private RelaySegment? _segment;
    private int _offset;
    private int _warningLength;
    private bool _taskSends = true;
    private bool _withinFrame;
    private bool _warnDue;
    private bool _warned;
    private RelayCloseReason _reason;

    internal RelayConnection(RelayTransport transport, RelayMetrics metrics, TimeProvider time)
    {
        _transport = transport;
        _metrics = metrics;
        _time = time;
    }

    internal bool Welcomed { get; private set; }

    /// <summary>Reads the client's hello.</summary>
    internal async Task<RelayHello> ReceiveHelloAsync(CancellationToken cancellationToken)
    {
        byte[] buffer = new byte[RelayFrame.HeaderLength + RelayFrame.HelloLength + RelayFrame.MaxToken];
        int filled = 0;
        while (filled < buffer.Length)
        {
            int read = await _transport.ReceiveAsync(buffer.AsMemory(filled), cancellationToken).ConfigureAwait(false);
            if (read == 0)
            {
                break;
            }

            filled += read;
            int length = RelayFrame.TryRead(buffer.AsSpan(0, filled), out RelayFrameKind kind, out ReadOnlySpan<byte> body);
            if (length < 0)
            {
                break;
            }

            if (length > 0)
            {
                RelayStatus status = RelayFrame.ReadHello(kind, body, out ulong ringId, out long from, out ReadOnlySpan<byte> token);
                return new RelayHello(status, ringId, from, buffer.AsMemory(length - token.Length, token.Length));
            }
        }

        return RelayHello.Refused(RelayStatus.BadHello);
    }

    /// <summary>Sends a whole frame; only before the connection has caught up for the first time.</summary>
    internal async Task SendAsync(ReadOnlyMemory<byte> frame, CancellationToken cancellationToken)
    {
        await _transport.SendAsync(frame, cancellationToken).ConfigureAwait(false);
        _metrics.Sent(frame.Length);
    }

    /// <summary>Sets the place in the stream at which the connection continues.</summary>
    internal void Join(RelaySegment segment, int offset)
    {
        lock (_gate)
        {
            _segment = segment;
            _offset = offset;
            Welcomed = true;
        }
    }

    /// <summary>
    /// Ends when the client goes away. A client has nothing to send after its hello: one that sends much is disconnected.
    /// </summary>
    internal async Task WatchAsync()
    {
        byte[] waste = new byte[512];
        try
        {
            int count;
            for (int heard = 0;
                 heard < MostHeard && (count = await _transport.ReceiveAsync(waste, CancellationToken.None).ConfigureAwait(false)) > 0;
                 heard += count)
            {
            }
        }
        catch (IOException)
        {
            // The same as an orderly end: the client has left.
        }

        Close(RelayCloseReason.ClientGone);
    }

    /// <summary>Sends from the connection's place to the end of the stream, and waits for the socket; then the pump takes over.</summary>
    internal async Task CatchUpAsync()
    {
        try
        {
            while (true)
            {
                RelaySegment? segment;
                ReadOnlyMemory<byte> chunk;
                lock (_gate)
                {
                    if (_reason != RelayCloseReason.None)
                    {
                        return;
                    }

                    // A chunk of this task ends at the end of a frame; only the pump's direct send may have stopped within one.
                    if (_warnDue && !_withinFrame)
                    {
                        _warnDue = false;
                        segment = null;
                        chunk = _frame.AsMemory(0, _warningLength);
                    }
                    else
                    {
                        segment = MoveToUnsentUnsynchronized();
                        if (_offset == segment.Written)
                        {
                            _taskSends = false;
                            _warned = false;
                            return;
                        }

                        chunk = segment.Buffer.AsMemory(_offset, segment.Written - _offset);
                        Interlocked.Increment(ref segment.PendingSends);
                    }
                }

                try
                {
                    long start = _time.GetTimestamp();
                    await _transport.SendAsync(chunk, CancellationToken.None).ConfigureAwait(false);
                    _metrics.Sent(chunk.Length);
                    if (!_transport.SendsAtOnce)
                    {
                        _metrics.Send.Add(start, _time.GetTimestamp());
                    }
                }
                finally
                {
                    if (segment is not null)
                    {
                        Interlocked.Decrement(ref segment.PendingSends);
                    }
                }

                if (segment is not null)
                {
                    lock (_gate)
                    {
                        _offset += chunk.Length;
                        _withinFrame = false;
                    }
                }
            }
        }
        catch (IOException)
        {
            Close(RelayCloseReason.ClientGone);
        }
    }

    /// <summary>
    /// For the pump, after every append: sends the new bytes if the socket takes them without waiting, and applies the limit for slow
    /// clients.
    /// </summary>
    internal void Push(long position, long limit)
    {
        lock (_gate)
        {
            if (_reason != RelayCloseReason.None || _segment is null)
            {
                return;
            }

            if (_taskSends)
            {
                JudgeUnsynchronized(position, limit);
                return;
            }

            SendNowUnsynchronized();
        }
    }

    internal void Close(RelayCloseReason reason)
    {
        lock (_gate)
        {
            if (_reason != RelayCloseReason.None)
            {
                return;
            }

            _reason = reason;
        }

        _metrics.ClientLeft(reason, Welcomed);
        _transport.Abort();
    }

    /// <summary>Closes the connection and gives it back when no task uses it any more.</summary>
    public async ValueTask DisposeAsync()
    {
        Close(RelayCloseReason.ServerStopped);
        Task catchingUp;
        lock (_gate)
        {
            catchingUp = _catchingUp;
        }

        await catchingUp.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _transport.DisposeAsync().ConfigureAwait(false);
    }

    private void JudgeUnsynchronized(long position, long limit)
    {
        long behind = position - _segment!.Start - _offset;
        if (behind > limit)
        {
            _reason = RelayCloseReason.TooSlow;
            _metrics.ClientLeft(RelayCloseReason.TooSlow, Welcomed);
            _transport.Abort();
        }
        else if (behind > limit / 2 && !_warned)
        {
            _warned = true;
            _warnDue = true;
            _warningLength = RelayFrame.WriteNumbers(_frame, RelayFrameKind.SlowWarning, behind, limit);
            _metrics.Warned();
        }
    }

    private void SendNowUnsynchronized()
    {
        while (true)
        {
            RelaySegment segment = MoveToUnsentUnsynchronized();
            ReadOnlySpan<byte> unsent = segment.Buffer.AsSpan(_offset, segment.Written - _offset);
            if (unsent.IsEmpty)
            {
                return;
            }

            int sent = 0;
            if (_transport.SendsAtOnce)
            {
                long start = _time.GetTimestamp();
                sent = _transport.TrySend(unsent);
                _metrics.Send.Add(start, _time.GetTimestamp());
            }

            if (sent > 0)
            {
                _offset += sent;
                _withinFrame = sent < unsent.Length;
                _metrics.Sent(sent);
                continue;
            }

            if (sent == 0)
            {
                _taskSends = true;
                _catchingUp = Task.Run(CatchUpAsync);
            }
            else
            {
                _reason = RelayCloseReason.ClientGone;
                _metrics.ClientLeft(_reason, Welcomed);
                _transport.Abort();
            }

            return;
        }
    }

    private RelaySegment MoveToUnsentUnsynchronized()
    {
        // The successor is read first: once it exists, the number of written bytes is final. In the other order, a frame that the pump
        // appended between the two reads would be skipped.
        while (_segment!.Next is { } next && _offset == _segment.Written)
        {
            _segment = next;
            _offset = 0;
        }

        return _segment;
    }
}
