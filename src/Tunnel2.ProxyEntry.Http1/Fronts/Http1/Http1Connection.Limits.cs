using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// Sending under a limit, and what ends the connection from outside.
[SuppressMessage("Design", "CA1001", Justification = "Disposed of by RunAsync, which is all that callers use.")]
internal sealed partial class Http1Connection
{

    /// <summary>
    /// How long each phase may last when the server stops, in milliseconds. A head that has begun has a second. So has a new connection:
    /// its visitor has seen it accepted, and clients do not repeat a request that fails on a fresh connection.
    /// </summary>
    private static readonly long[] _whenStopping = LimitsWhenStopping();

    private readonly ConnectionClock _clock = new();
    private readonly CancellationTokenSource _left = new();
    private long _sendingSince = -1;
    private long _inputEndedAt = -1;
    private long _lastSent;
    private volatile bool _isAborted;
    private volatile bool _isEvicted;

    /// <summary>Signalled when the visitor has left during a request.</summary>
    public CancellationToken VisitorLeft => _left.Token;

    /// <summary>Sends the exchange's written bytes.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public ValueTask<bool> FlushAsync()
    {
        Volatile.Write(ref _lastSent, _front.Sweep.Now);
        var flushing = _output.FlushAsync();
        return flushing.IsCompletedSuccessfully ? flushing : WatchAsync(flushing);
    }

    /// <summary>Sends raw bytes.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) => WatchAsync(_output.SendAsync(data));

    /// <summary>
    /// Waits until the visitor's system has acknowledged all sent bytes, because a reset would destroy those that have not arrived. The
    /// wait has the limit of a send.
    /// </summary>
    public ValueTask DeliverAsync() =>
        Delivery.WaitAsync(_transport.Link, () => _isAborted, _front.Sweep.Clock, TimeSpan.FromMilliseconds(_front.Sweep.SendLimit));

    /// <summary>Ends our direction.</summary>
    public ValueTask<bool> EndSendAsync() => WatchAsync(_output.EndAsync());

    /// <summary>The connection after a 101.</summary>
    public Http1Upgrade Upgrade() => new(_input, this);

    /// <summary>Aborts the connection. From any thread.</summary>
    public void Abort()
    {
        if (!_isAborted)
        {
            _isAborted = true;
            _transport.Abort();
        }
    }

    /// <summary>Whether a limit has passed. The sweep asks all connections; this method changes nothing.</summary>
    public bool IsLate(ReadOnlySpan<long> limits, long now) =>
        _clock.IsLate(limits, now) || HoldsStop(now) || IsStalled(now) || IsLeft(now);

    /// <summary>Acts on a limit that has passed.</summary>
    public void Expire(ReadOnlySpan<long> limits, long now)
    {
        if (_clock.TryExpire(limits, now) || (HoldsStop(now) && _clock.TryExpire(_whenStopping, now)))
        {
            _input.CancelPendingRead();
        }
        else if (IsStalled(now))
        {
            Abort();
        }
        else if (IsLeft(now))
        {
            CancelLeft();
        }
    }

    /// <summary>How long it has waited for a request, in milliseconds; −1 if it does not wait, or not long enough.</summary>
    public long WaitsFor(long now, long leastIdle, long leastHead) => _clock.WaitsFor(now, leastIdle, leastHead);

    /// <summary>Ends it if it waits for a request, because its place is needed. From any thread.</summary>
    public bool TryEvict(long now)
    {
        if (!_clock.TryExpireWaiting(now))
        {
            return false;
        }

        _isEvicted = true;
        _input.CancelPendingRead();
        return true;
    }

    /// <summary>Ends it after the current answer, because its place is needed. From any thread.</summary>
    public void EvictAfterwards() => _isEvicted = true;

    /// <summary>
    /// The visitor's direction has ended. Nearly every visitor that does this has left; one that has only ended its direction gets a
    /// moment.
    /// </summary>
    private void OnInputEnded()
    {
        var now = _front.Sweep.Now;
        Volatile.Write(ref _inputEndedAt, now);
        if (IsLeft(now))
        {
            _front.Sweep.Expire(this, now);
        }
    }

    private void OnStopping()
    {
        if (_clock.TryExpireIdle(_front.Sweep.Now))
        {
            _input.CancelPendingRead();
        }
    }

    /// <summary>Whether the server stops and this connection waits for a head that has not arrived completely.</summary>
    private bool HoldsStop(long now) => IsStopping && _clock.IsLate(_whenStopping, now);

    private static long[] LimitsWhenStopping()
    {
        var limits = new long[(int)ConnectionPhase.Expired];
        Array.Fill(limits, long.MaxValue);
        limits[(int)ConnectionPhase.New] = 1_000;
        limits[(int)ConnectionPhase.Idle] = 0;
        limits[(int)ConnectionPhase.Head] = 1_000;
        return limits;
    }

    private bool IsStalled(long now)
    {
        var since = Volatile.Read(ref _sendingSince);
        return since >= 0 && now - since >= _front.Sweep.SendLimit;
    }

    /// <summary>
    /// Whether the visitor has left. A visitor that has only ended its direction still reads. It counts as there while it reads what is
    /// sent. It is not checked during a send, which fails by itself if the visitor is gone. A client of gRPC never ends its direction
    /// alone: it has cancelled the call, and its service is to know at once.
    /// </summary>
    private bool IsLeft(long now)
    {
        var ended = Volatile.Read(ref _inputEndedAt);
        if (ended < 0 || _clock.Phase != ConnectionPhase.Exchange || _left.IsCancellationRequested)
        {
            return false;
        }

        return _transport.Link is { IsLost: true }
            || (!_exchange.IsUpgraded
                && Volatile.Read(ref _sendingSince) < 0
                && (_exchange.IsGrpc || now - Math.Max(ended, Volatile.Read(ref _lastSent)) >= _front.Sweep.HalfClosedLimit));
    }

    private void CancelLeft()
    {
        try
        {
            _left.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The connection has just ended by itself.
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> WatchAsync(ValueTask<bool> sending)
    {
        Volatile.Write(ref _sendingSince, _front.Sweep.Now);
        var isThere = await sending.ConfigureAwait(false);
        Volatile.Write(ref _sendingSince, -1);
        Volatile.Write(ref _lastSent, _front.Sweep.Now);
        return isThere;
    }
}
