using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Embed.Connections;

/// <summary>
/// The agent's side of a connection to the app of its process. What the app does not read stays in the pipe up to its limit; the send waits
/// then, and with it the credit of the visitor's stream.
/// </summary>
internal sealed class AgentTransport : IByteTransport
{
    /// <summary>What is sent at a time: this much may be in the pipe beyond its limit.</summary>
    private const int Piece = 16 * 1024;

    private readonly TunnelConnection _connection;
    private readonly PipeReader _reader;
    private readonly PipeWriter _writer;
    private PipeEnd _receiving;
    private PipeEnd _sending;
    private ValueTask<ReadResult> _read;
    private volatile bool _waits;
    private volatile bool _hasBytes;
    private volatile bool _isAborted;

    /// <param name="connection">The connection.</param>
    /// <param name="reader">What the app sends.</param>
    /// <param name="writer">What the app receives.</param>
    /// <param name="home">Where the pipes' continuations on this side run; null: on the pool.</param>
    public AgentTransport(TunnelConnection connection, PipeReader reader, PipeWriter writer, PipeScheduler? home)
    {
        _connection = connection;
        _reader = reader;
        _writer = writer;
        Home = home;
    }

    /// <inheritdoc/>
    public PipeScheduler? Home { get; }

    /// <inheritdoc/>
    public bool WaitsFreely => true;

    /// <inheritdoc/>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited once; beside that only asked whether it is over.")]
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (!_receiving.TryUse())
        {
            throw Lost();
        }

        try
        {
            while (true)
            {
                _read = _reader.ReadAsync();
                _waits = buffer.IsEmpty;
                var result = await _read.ConfigureAwait(false);
                var received = result.Buffer;
                if (result.IsCanceled)
                {
                    _reader.AdvanceTo(received.Start);
                    throw Lost();
                }

                if (received.IsEmpty && !result.IsCompleted)
                {
                    // A flush of nothing.
                    _reader.AdvanceTo(received.End);
                    continue;
                }

                int count = (int)Math.Min(received.Length, buffer.Length);
                var taken = received.GetPosition(count);
                CopyTo(received.Slice(0, taken), buffer.Span);
                _hasBytes = buffer.IsEmpty && !received.IsEmpty;
                _reader.AdvanceTo(taken);
                return count;
            }
        }
        catch (Exception exception) when (exception is not IOException)
        {
            // The app's side has completed its end with this.
            throw Lost(exception);
        }
        finally
        {
            _waits = false;
            if (_receiving.StopUse())
            {
                _reader.Complete();
            }
        }
    }

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public async ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        if (!_sending.TryUse())
        {
            throw Lost();
        }

        try
        {
            while (!buffer.IsEmpty)
            {
                var piece = buffer[..Math.Min(buffer.Length, Piece)];
                var flush = await _writer.WriteAsync(piece).ConfigureAwait(false);
                if (flush.IsCanceled || flush.IsCompleted)
                {
                    throw Lost();
                }

                buffer = buffer[piece.Length..];
            }
        }
        catch (Exception exception) when (exception is not IOException)
        {
            // The app's side has completed its end with this.
            throw Lost(exception);
        }
        finally
        {
            if (_sending.StopUse())
            {
                _writer.Complete();
            }
        }
    }

    /// <inheritdoc/>
    public void ShutdownSend() => EndSending();

    /// <inheritdoc/>
    public bool IsIdleAndOpen()
    {
        if (_isAborted)
        {
            return false;
        }

        if (_waits)
        {
            return !_read.IsCompleted;
        }

        if (!_receiving.TryUse())
        {
            return false;
        }

        bool isIdle = true;
        try
        {
            if (_reader.TryRead(out var result))
            {
                isIdle = result.Buffer.IsEmpty && !result.IsCompleted && !result.IsCanceled;
                _reader.AdvanceTo(result.Buffer.Start);
            }
        }
        catch (Exception)
        {
            isIdle = false;
        }
        finally
        {
            if (_receiving.StopUse())
            {
                _reader.Complete();
            }
        }

        return isIdle;
    }

    /// <inheritdoc/>
    public bool HasBytes() => _hasBytes;

    /// <inheritdoc/>
    public void Abort()
    {
        _isAborted = true;
        _connection.FireClosed();
        switch (_receiving.End())
        {
            case PipeEnding.Complete:
                _reader.Complete();
                break;
            case PipeEnding.Cancel:
                _reader.CancelPendingRead();
                break;
            default:
                break;
        }

        EndSending();
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Abort();
        return default;
    }

    private static IOException Lost(Exception? inner = null) => new("The connection to the app has ended.", inner);

    private static void CopyTo(System.Buffers.ReadOnlySequence<byte> from, Span<byte> to)
    {
        foreach (var segment in from)
        {
            segment.Span.CopyTo(to);
            to = to[segment.Length..];
        }
    }

    private void EndSending()
    {
        switch (_sending.End())
        {
            case PipeEnding.Complete:
                _writer.Complete();
                break;
            case PipeEnding.Cancel:
                _writer.CancelPendingFlush();
                break;
            default:
                break;
        }
    }
}
