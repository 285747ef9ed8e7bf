using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Benchmarks.Multiplexing;

/// <summary>
/// One end of a connection in memory without limits of size: a send always completes at once, and a receive that waits is woken in the
/// scheduler's next round, as a socket engine would. Allocates nothing once it has grown to its size. Not thread-safe.
/// </summary>
internal sealed class MemoryTransport : IUplinkTransport, IValueTaskSource<int>
{
    private readonly PipeScheduler _scheduler;
    private ManualResetValueTaskSourceCore<int> _source;
    private MemoryTransport? _peer;
    private byte[] _incoming = new byte[64 * 1024];
    private int _start;
    private int _end;
    private Memory<byte> _waiting;
    private bool _isWaiting;
    private bool _isClosed;

    private MemoryTransport(PipeScheduler scheduler) => _scheduler = scheduler;

    public string RemoteName => "memory";

    public static (MemoryTransport Left, MemoryTransport Right) CreatePair(PipeScheduler scheduler)
    {
        var left = new MemoryTransport(scheduler);
        var right = new MemoryTransport(scheduler) { _peer = left };
        left._peer = right;
        return (left, right);
    }

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_end > _start || _isClosed)
        {
            return new ValueTask<int>(Take(buffer));
        }

        _source.Reset();
        _waiting = buffer;
        _isWaiting = true;
        return new ValueTask<int>(this, _source.Version);
    }

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        _peer!.Arrive(buffer.Span);
        return default;
    }

    public void ShutdownSend() => _peer!.Close();

    public void Abort()
    {
        Close();
        _peer!.Close();
    }

    public ValueTask DisposeAsync()
    {
        Abort();
        return default;
    }

    int IValueTaskSource<int>.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource<int>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    private void Arrive(ReadOnlySpan<byte> bytes)
    {
        if (_start == _end)
        {
            _start = _end = 0;
        }

        if (_incoming.Length - _end < bytes.Length)
        {
            Array.Resize(ref _incoming, Math.Max(_incoming.Length * 2, _end + bytes.Length));
        }

        bytes.CopyTo(_incoming.AsSpan(_end));
        _end += bytes.Length;
        Wake();
    }

    private void Close()
    {
        _isClosed = true;
        Wake();
    }

    private void Wake()
    {
        if (_isWaiting)
        {
            _isWaiting = false;
            _scheduler.Schedule(static self => ((MemoryTransport)self!).CompleteReceive(), this);
        }
    }

    private void CompleteReceive() => _source.SetResult(Take(_waiting));

    private int Take(Memory<byte> buffer)
    {
        var count = Math.Min(buffer.Length, _end - _start);
        _incoming.AsSpan(_start, count).CopyTo(buffer.Span);
        _start += count;
        return count;
    }
}
