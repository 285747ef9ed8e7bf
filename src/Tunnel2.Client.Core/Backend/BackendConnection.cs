using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Sources;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// A connection to the backend and what its next exchange needs. Used by one exchange at a time; it holds a buffer only while it is.
/// </summary>
/// <remarks>
/// A connection that becomes idle begins to wait for bytes at once, and this wait is also the one for the next response: so all that
/// arrives before a request was sent is seen when it arrives, without a question. The wait ends either an idle connection or an
/// exchange's own wait.
/// </remarks>
internal sealed class BackendConnection : IDisposable, IValueTaskSource, IArrivalObserver
{
    private const int InUse = 0;
    private const int Idle = 1;
    private const int Ended = 2;

    private readonly BufferPool _buffers;
    private readonly TunnelSlots? _slots;
    private readonly Action _onArrival;
    private readonly bool _reportsArrivals;
    private BackendPool? _pool;
    private LoopOpenings? _openings;
    private ManualResetValueTaskSourceCore<bool> _arrival;
    private ValueTask<int> _wait;
    private int _state;
    private int _disposed;

    /// <summary>Takes over a transport.</summary>
    /// <param name="transport">The transport.</param>
    /// <param name="buffers">Where buffers come from.</param>
    /// <param name="slots">Where its slot goes back to when it is disposed of; null: it has none.</param>
    public BackendConnection(IByteTransport transport, BufferPool buffers, TunnelSlots? slots = null)
    {
        Transport = transport;
        _buffers = buffers;
        _slots = slots;
        LoopNumber = (transport.Home as EpollLoop)?.Number ?? 0;
        _onArrival = OnWaitEnded;
        _reportsArrivals = transport.ReportsArrivals;
    }

    public IByteTransport Transport { get; }

    /// <summary>Reads response heads; reused.</summary>
    public ResponseHeadParser Parser { get; } = new();

    /// <summary>
    /// Whether an earlier exchange has used it: then the backend may have closed it since that exchange, or may still send something of it.
    /// </summary>
    public bool IsReused { get; private set; }

    /// <summary>When it began to be opened, a timestamp of the pool's time provider.</summary>
    public long Begun { get; init; }

    /// <summary>What the last response was.</summary>
    public ResponseKind LastResponse { get; private set; }

    /// <summary>When it became idle, a timestamp of the pool's time provider.</summary>
    public long IdleSince { get; private set; }

    /// <summary>The buffer of the running exchange; null between exchanges.</summary>
    public byte[]? Buffer { get; private set; }

    /// <summary>Whether waiting for the next bytes costs no buffer.</summary>
    public bool WaitsFreely => IsWaiting || Transport.WaitsFreely;

    /// <summary>Whether something has arrived after it became idle: it cannot be the answer to what is sent now.</summary>
    public bool HasArrival => IsWaiting && _arrival.GetStatus(_arrival.Version) != ValueTaskSourceStatus.Pending;

    /// <summary>The number of the event loop that it lives on; 0 where there are none. Changes only for who has it alone.</summary>
    public int LoopNumber { get; private set; }

    /// <summary>The list of the pool that it is in, and its neighbours there. Guarded by the gate of its loop there.</summary>
    internal IdleList? List { get; set; }

    internal BackendConnection? Older { get; set; }

    internal BackendConnection? Younger { get; set; }

    /// <summary>Whether the wait that began when it became idle has not been taken over yet.</summary>
    private bool IsWaiting { get; set; }

    public byte[] RentBuffer(int minimumLength)
    {
        if (Buffer is null || Buffer.Length < minimumLength)
        {
            ReturnBuffer();
            Buffer = _buffers.Rent(minimumLength);
        }

        return Buffer;
    }

    /// <summary>Continues with a larger buffer.</summary>
    public byte[] GrowBuffer(int filled, int minimumLength)
    {
        var larger = _buffers.Rent(minimumLength);
        Buffer.AsSpan(0, filled).CopyTo(larger);
        ReturnBuffer();
        Buffer = larger;
        return larger;
    }

    public void ReturnBuffer()
    {
        if (Buffer is not null)
        {
            _buffers.Return(Buffer);
            Buffer = null;
        }
    }

    /// <summary>Waits until there is something to receive, an end included.</summary>
    /// <exception cref="IOException">The connection failed; a receive says so too.</exception>
    public ValueTask WaitAsync()
    {
        if (IsWaiting)
        {
            IsWaiting = false;
            return new ValueTask(this, _arrival.Version);
        }

        var wait = Transport.ReceiveAsync(Memory<byte>.Empty);
        return wait.IsCompletedSuccessfully ? default : IgnoreCountAsync(wait);
    }

    /// <inheritdoc cref="IByteTransport.ReceiveAsync"/>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer) => IsWaiting ? WaitAndReceiveAsync(buffer) : Transport.ReceiveAsync(buffer);

    /// <summary>The end of its first exchange is to be reported, once; null: to none.</summary>
    public void ReportTo(LoopOpenings? openings) => _openings = openings;

    /// <summary>To whom the end of its first exchange has still to be reported; null: to none.</summary>
    public LoopOpenings? TakeOpenings() => _openings is null ? null : Interlocked.Exchange(ref _openings, null);

    /// <summary>Becomes idle: its next bytes, whenever they come, are waited for from now on.</summary>
    /// <param name="pool">Called when they come before it is in use again.</param>
    /// <param name="lastResponse">What it carried.</param>
    /// <param name="now">A timestamp of the pool's time provider.</param>
    /// <returns>False: there is something already, and it is not idle.</returns>
    public bool TryBecomeIdle(BackendPool pool, ResponseKind lastResponse, long now)
    {
        ReturnBuffer();
        _pool = pool;
        LastResponse = lastResponse;
        IdleSince = now;
        IsReused = true;
        _arrival.Reset();

        // Before the wait begins: what it waits for may come at once, on the loop's thread.
        IsWaiting = true;
        Volatile.Write(ref _state, Idle);
        if (TryBeginWait() || (Transport.IsIdleAndOpen() && TryBeginWait()))
        {
            return true;
        }

        IsWaiting = false;
        Volatile.Write(ref _state, InUse);
        return false;
    }

    /// <summary>Whether it is idle, and nothing has come.</summary>
    public bool IsIdle => Volatile.Read(ref _state) == Idle;

    /// <summary>Is to be used, or ended: the caller that wins this has it alone.</summary>
    public bool TryTake() => Interlocked.CompareExchange(ref _state, InUse, Idle) == Idle;

    /// <summary>Has it live on another loop from now on, if it can. Only for who has taken it, and not used it yet.</summary>
    public void MoveTo(EpollLoop loop)
    {
        if (LoopNumber != loop.Number && Transport.TryMoveTo(loop))
        {
            LoopNumber = loop.Number;
        }
    }

    /// <summary>Ends its use from any thread: every wait on it fails. Its owner disposes of it.</summary>
    /// <param name="byReset">Whether the backend sees a reset; see <see cref="IByteTransport.Discard"/>.</param>
    public void Break(bool byReset)
    {
        if (byReset)
        {
            Transport.Discard();
        }
        else
        {
            Transport.Abort();
        }
    }

    /// <summary>Ends it by a reset; see <see cref="IByteTransport.Discard"/>.</summary>
    public void Discard() => Close(byReset: true);

    public void Dispose() => Close(byReset: false);

    void IValueTaskSource.GetResult(short token) => _arrival.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _arrival.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _arrival.OnCompleted(continuation, state, token, flags);

    private static async ValueTask IgnoreCountAsync(ValueTask<int> wait) => await wait.ConfigureAwait(false);

    private async ValueTask<int> WaitAndReceiveAsync(Memory<byte> buffer)
    {
        await WaitAsync().ConfigureAwait(false);
        return await Transport.ReceiveAsync(buffer).ConfigureAwait(false);
    }

    private void Close(bool byReset)
    {
        ReturnBuffer();

        // Set before the transport is closed: the wait may fail on its loop before this thread continues, and has to know why.
        if (Interlocked.Exchange(ref _disposed, 1) != 0)
        {
            return;
        }

        if (byReset)
        {
            Transport.Discard();
        }

        // It is closed here and now; what TLS has to clear up after that holds up no caller.
        var disposal = Transport.DisposeAsync();
        if (!disposal.IsCompletedSuccessfully)
        {
            _ = disposal.AsTask();
        }

        _slots?.Release();
        TakeOpenings()?.Ended(Begun);
    }

    /// <remarks>May find something where nothing is: a receive that filled its buffer does not know that it took all.</remarks>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once.")]
    private bool TryBeginWait()
    {
        if (_reportsArrivals)
        {
            return Transport.TryReportArrival(this);
        }

        _wait = Transport.ReceiveAsync(Memory<byte>.Empty);
        var waiter = _wait.GetAwaiter();
        if (!waiter.IsCompleted)
        {
            waiter.UnsafeOnCompleted(_onArrival);
            return true;
        }

        TakeWait();
        return false;
    }

    private void OnWaitEnded()
    {
        TakeWait();
        OnArrival();
    }

    void IArrivalObserver.OnArrival() => OnArrival();

    private void OnArrival()
    {
        if (Interlocked.CompareExchange(ref _state, Ended, Idle) == Idle)
        {
            _pool!.OnArrivalWhileIdle(this);
        }
        else
        {
            _arrival.SetResult(true);
        }
    }

    /// <summary>
    /// Takes the wait's result, so that another may begin. Not where it failed because this end is closed: no call waits here again, and
    /// it would be an exception thrown for each connection that the pool lets go.
    /// </summary>
    private void TakeWait()
    {
        if (Volatile.Read(ref _disposed) != 0 && !_wait.IsCompletedSuccessfully)
        {
            return;
        }

        try
        {
            _ = _wait.GetAwaiter().GetResult();
        }
        catch (Exception)
        {
            // A failure is an arrival too: the next receive meets it again.
        }
    }
}
