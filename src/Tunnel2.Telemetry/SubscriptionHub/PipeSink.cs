using System.IO.Pipelines;
using System.Net.Sockets;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// A client without a socket of its own: what the hub sends goes into a bounded pipe, whose reader passes it on. A reader that is slow
/// holds up no other client: the client's queue fills, as that of a slow socket does.
/// </summary>
internal sealed class PipeSink : IHubSink
{
    /// <summary>Bytes that may wait for the reader, as in the buffer of a socket.</summary>
    internal const int Room = 256 * 1024;

    private readonly Pipe _pipe = new(new PipeOptions(pauseWriterThreshold: 0, useSynchronizationContext: false));
    private readonly Lock _gate = new();
    private readonly Action _onEnd;
    private long _waiting;
    private bool _isOver;

    /// <param name="onEnd">Called once when both directions have ended. Must not block or throw.</param>
    internal PipeSink(Action onEnd) => _onEnd = onEnd;

    /// <summary>What the hub has sent. One reader, which says what it has taken: <see cref="Taken"/>.</summary>
    internal PipeReader Reader => _pipe.Reader;

    /// <summary>Bytes have left the pipe.</summary>
    internal void Taken(long count) => Interlocked.Add(ref _waiting, -count);

    public int Send(byte[] source, int offset, int length, out SocketError error)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isOver, this);
            int count = (int)Math.Min(length, Room - Volatile.Read(ref _waiting));
            if (count <= 0)
            {
                error = SocketError.WouldBlock;
                return 0;
            }

            error = SocketError.Success;
            source.AsSpan(offset, count).CopyTo(_pipe.Writer.GetSpan(count));
            _pipe.Writer.Advance(count);
            Interlocked.Add(ref _waiting, count);

            // Without a threshold it never waits.
            _ = _pipe.Writer.FlushAsync().AsTask();
            return count;
        }
    }

    public void Shutdown(SocketShutdown how)
    {
        if (how == SocketShutdown.Receive)
        {
            return;
        }

        lock (_gate)
        {
            if (!_isOver)
            {
                _isOver = true;
                _pipe.Writer.Complete();
            }
        }

        if (how == SocketShutdown.Both)
        {
            _onEnd();
        }
    }
}
