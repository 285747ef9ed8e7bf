using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using System.Text;
using Microsoft.AspNetCore.Connections;

namespace Tunnel2.TestBackend.Hosting;

/// <summary>
/// Sits between the transport and Kestrel's HTTP layer for the two things HttpContext cannot do: report the fields of a request as they
/// were sent (order, case, duplicates), and let an upgraded connection be closed in one direction only.
/// </summary>
/// <remarks>
/// It passes buffers through untouched. Bytes are copied only from a request whose first bytes name <c>/headers</c>, so that all other
/// paths pay for one short search per read. Used by one connection, by one thread at a time.
/// </remarks>
internal sealed class RawConnectionTap : PipeReader, IDuplexPipe, IDisposable
{
    private const int SearchLength = 256;
    private const int CaptureLimit = 2 * 1024 * 1024;

    private readonly PipeReader _inner;
    private readonly CancellationTokenSource _closed = new();
    private ReadOnlySequence<byte> _current;
    private ArrayBufferWriter<byte>? _captured;
    private bool _capturing;
    private volatile bool _halfCloseAllowed;

    private RawConnectionTap(IDuplexPipe transport)
    {
        _inner = transport.Input;
        Output = transport.Output;
    }

    public PipeReader Input => this;

    public PipeWriter Output { get; }

    /// <summary>Connection middleware: runs <paramref name="next"/> with a tap in place.</summary>
    public static async Task RunAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        using var tap = new RawConnectionTap(connection.Transport);
        // Kestrel takes the end of the input for the end of the connection and would abort the output of an upgraded stream.
        using var registration = connection.ConnectionClosed.UnsafeRegister(static state => ((RawConnectionTap)state!).OnClosed(), tap);
        connection.ConnectionClosed = tap._closed.Token;
        connection.Transport = tap;
        connection.Features.Set(tap);
        await next(connection);
    }

    /// <summary>From now on the end of the input does not end the output.</summary>
    public void AllowHalfClose() => _halfCloseAllowed = true;

    /// <summary>
    /// The fields of the request that was read last, as they were sent; null if its bytes were not kept. May be asked once per request.
    /// </summary>
    public List<KeyValuePair<string, string>>? TakeFields(string method, string rawTarget)
    {
        if (!_capturing)
        {
            return null;
        }

        _capturing = false;
        var head = Encoding.Latin1.GetString(_captured!.WrittenSpan);
        _captured.ResetWrittenCount();
        // The copy may begin with the end of an earlier body; a field cannot contain a line, so the last match is the request line.
        var start = head.LastIndexOf($"{method} {rawTarget} HTTP/1.", StringComparison.Ordinal);
        if (start < 0)
        {
            return null;
        }

        var fields = new List<KeyValuePair<string, string>>();
        foreach (var line in head[start..].Split('\n').Skip(1))
        {
            var text = line.TrimEnd('\r');
            if (text.Length == 0)
            {
                break;
            }

            var colon = text.IndexOf(':', StringComparison.Ordinal);
            fields.Add(new(text[..colon], text[(colon + 1)..].Trim(' ', '\t')));
        }

        return fields;
    }

    public override bool TryRead(out ReadResult result)
    {
        if (!_inner.TryRead(out result))
        {
            return false;
        }

        Observe(result.Buffer);
        return true;
    }

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        var read = _inner.ReadAsync(cancellationToken);
        if (!read.IsCompletedSuccessfully)
        {
            return ObserveLaterAsync(read);
        }

        var result = read.Result;
        Observe(result.Buffer);
        return new ValueTask<ReadResult>(result);
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_capturing)
        {
            Capture(_current.Slice(0, consumed));
        }

        _current = default;
        _inner.AdvanceTo(consumed, examined);
    }

    public override void CancelPendingRead() => _inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => _inner.Complete(exception);

    public override ValueTask CompleteAsync(Exception? exception = null) => _inner.CompleteAsync(exception);

    public void Dispose() => _closed.Dispose();

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> ObserveLaterAsync(ValueTask<ReadResult> read)
    {
        var result = await read;
        Observe(result.Buffer);
        return result;
    }

    private void Observe(in ReadOnlySequence<byte> buffer)
    {
        if (_capturing || NamesHeadersPath(buffer))
        {
            _capturing = true;
            _current = buffer;
        }
    }

    private static bool NamesHeadersPath(in ReadOnlySequence<byte> buffer)
    {
        var first = buffer.FirstSpan;
        if (first.Length >= SearchLength || buffer.IsSingleSegment)
        {
            return first[..Math.Min(first.Length, SearchLength)].IndexOf("/headers"u8) >= 0;
        }

        Span<byte> start = stackalloc byte[SearchLength];
        var length = (int)Math.Min(buffer.Length, SearchLength);
        buffer.Slice(0, length).CopyTo(start);
        return start[..length].IndexOf("/headers"u8) >= 0;
    }

    private void Capture(in ReadOnlySequence<byte> consumed)
    {
        _captured ??= new ArrayBufferWriter<byte>();
        if (_captured.WrittenCount + consumed.Length > CaptureLimit)
        {
            // A body that happened to contain the path.
            _capturing = false;
            _captured.ResetWrittenCount();
            return;
        }

        foreach (var segment in consumed)
        {
            _captured.Write(segment.Span);
        }
    }

    private void OnClosed()
    {
        if (!_halfCloseAllowed)
        {
            try
            {
                _closed.Cancel();
            }
            catch (ObjectDisposedException)
            {
                // The connection has just ended; no reader listens any more.
            }
        }
    }
}
