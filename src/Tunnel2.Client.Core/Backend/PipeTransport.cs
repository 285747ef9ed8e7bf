using System.IO.Pipes;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// A connection to a service over a named pipe, on the pool. A pipe has no end of one direction: after the visitor's end the service may
/// still answer, and the connection ends when it was silent for <see cref="Silence"/>.
/// </summary>
internal sealed class PipeTransport : IByteTransport
{
    /// <summary>How long the service may be silent after the visitor's end.</summary>
    public static readonly TimeSpan Silence = TimeSpan.FromSeconds(10);

    /// <summary>Bytes that a wait can take: a frame's.</summary>
    private const int EarlyLength = 16 * 1024;

    private readonly PipeStream _pipe;
    private readonly ITimer _timer;
    private byte[]? _early;
    private int _taken;
    private volatile int _arrived;
    private bool _isOver;
    private volatile bool _hasEnded;
    private volatile bool _isSilent;
    private int _aborted;

    /// <summary>Takes over a connected pipe.</summary>
    /// <param name="pipe">The pipe.</param>
    /// <param name="timeProvider">The clock.</param>
    public PipeTransport(PipeStream pipe, TimeProvider timeProvider)
    {
        _pipe = pipe;
        _timer = timeProvider.CreateTimer(
            static self => ((PipeTransport)self!).OnSilence(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <inheritdoc/>
    public bool WaitsFreely => true;

    /// <summary>As the interface says. A pipe cannot wait without a buffer, so a wait fills one of its own for the next.</summary>
    public async ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_arrived > 0 || _isOver)
        {
            return TakeEarly(buffer.Span);
        }

        try
        {
            var count = await _pipe.ReadAsync(buffer.IsEmpty ? (_early ??= new byte[EarlyLength]) : buffer).ConfigureAwait(false);
            if (_hasEnded)
            {
                _timer.Change(Silence, Timeout.InfiniteTimeSpan);
            }

            if (!buffer.IsEmpty)
            {
                return count;
            }

            _isOver = count == 0;
            (_taken, _arrived) = (0, count);
            return 0;
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            return _isSilent ? 0 : throw Lost(exception);
        }
    }

    /// <inheritdoc/>
    public async ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        try
        {
            await _pipe.WriteAsync(buffer).ConfigureAwait(false);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            throw Lost(exception);
        }
    }

    /// <inheritdoc/>
    public void ShutdownSend()
    {
        _hasEnded = true;
        _timer.Change(Silence, Timeout.InfiniteTimeSpan);
    }

    /// <inheritdoc/>
    public bool HasBytes() => _arrived > 0;

    /// <inheritdoc/>
    public void Abort()
    {
        if (Interlocked.Exchange(ref _aborted, 1) == 0)
        {
            _timer.Dispose();
            _pipe.Dispose();
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Abort();
        return default;
    }

    /// <summary>What a pipe that was closed here or there throws: a closed one says that it is not connected.</summary>
    private static bool IsEnd(Exception exception) => exception is IOException or InvalidOperationException or OperationCanceledException;

    private static IOException Lost(Exception exception) =>
        exception as IOException ?? new IOException("The connection was aborted.", exception);

    private int TakeEarly(Span<byte> buffer)
    {
        var count = Math.Min(buffer.Length, _arrived);
        _early.AsSpan(_taken, count).CopyTo(buffer);
        _taken += count;
        _arrived -= count;
        return count;
    }

    private void OnSilence()
    {
        _isSilent = true;
        Abort();
    }
}
