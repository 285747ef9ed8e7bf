using System.Net.Sockets;

namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// One client of the relay. While its socket takes all bytes at once, the pump sends to it directly and without waiting. When the socket is
/// full, the connection's own task sends until it has caught up with the stream, and the pump does not send to it.
/// </summary>
internal sealed class RelayConnection : IDisposable
{
    private const int MostHeard = 64 * 1024;

    private readonly Lock _gate = new();
    private readonly Socket _socket;
    private readonly RelayMetrics _metrics;
    private readonly TimeProvider _time;
    private readonly byte[] _frame = new byte[64];
    private RelaySegment? _segment;
    private int _offset;
    private int _warningLength;
    private bool _taskSends = true;
    private bool _withinFrame;
    private bool _warnDue;
    private bool _warned;
    private RelayCloseReason _reason;

    internal RelayConnection(Socket socket, RelayMetrics metrics, TimeProvider time)
    {
        _socket = socket;
        _metrics = metrics;
        _time = time;
    }

    internal bool Welcomed { get; private set; }

    /// <summary>Reads the client's hello.</summary>
    internal async Task<(RelayStatus Status, ulong RingId, long From)> ReceiveHelloAsync(CancellationToken cancellationToken)
    {
        byte[] buffer = new byte[RelayFrame.HeaderLength + RelayFrame.HelloLength];
        int filled = 0;
        while (filled < buffer.Length)
        {
            int read = await _socket.ReceiveAsync(buffer.AsMemory(filled), SocketFlags.None, cancellationToken).ConfigureAwait(false);
            if (read == 0)
            {
                return (RelayStatus.BadHello, 0, 0);
            }

            filled += read;
            if (RelayFrame.TryRead(buffer.AsSpan(0, filled), out _, out _) < 0)
            {
                return (RelayStatus.BadHello, 0, 0);
            }
        }

        int length = RelayFrame.TryRead(buffer, out RelayFrameKind kind, out ReadOnlySpan<byte> body);
        RelayStatus status = RelayFrame.ReadHello(kind, length > 0 ? body : default, out ulong ringId, out long from);
        return (status, ringId, from);
    }

    /// <summary>Sends a whole frame; only before the connection has caught up for the first time.</summary>
    internal async Task SendAsync(ReadOnlyMemory<byte> frame, CancellationToken cancellationToken)
    {
        await _socket.SendAsync(frame, SocketFlags.None, cancellationToken).ConfigureAwait(false);
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
                 heard < MostHeard && (count = await _socket.ReceiveAsync(waste, SocketFlags.None).ConfigureAwait(false)) > 0;
                 heard += count)
            {
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
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
                    await _socket.SendAsync(chunk, SocketFlags.None).ConfigureAwait(false);
                    _metrics.Sent(chunk.Length);
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
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
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
        _socket.Dispose();
    }

    public void Dispose() => Close(RelayCloseReason.ServerStopped);

    private void JudgeUnsynchronized(long position, long limit)
    {
        long behind = position - _segment!.Start - _offset;
        if (behind > limit)
        {
            _reason = RelayCloseReason.TooSlow;
            _metrics.ClientLeft(RelayCloseReason.TooSlow, Welcomed);
            _socket.Dispose();
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

            long start = _time.GetTimestamp();
            int sent = _socket.Send(unsent, SocketFlags.None, out SocketError error);
            _metrics.Send.Add(start, _time.GetTimestamp());
            if (error == SocketError.Success && sent > 0)
            {
                _offset += sent;
                _withinFrame = sent < unsent.Length;
                _metrics.Sent(sent);
                continue;
            }

            if (error is SocketError.WouldBlock or SocketError.Success)
            {
                _taskSends = true;
                _ = Task.Run(CatchUpAsync);
            }
            else
            {
                _reason = RelayCloseReason.ClientGone;
                _metrics.ClientLeft(_reason, Welcomed);
                _socket.Dispose();
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
