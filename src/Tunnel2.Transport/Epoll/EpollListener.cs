using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Accepts connections on a loop, several at a time when they come fast. A full batch doubles the next one, and a batch that ran out
/// shrinks it, so that at a slow rate no accept is made in vain. Options that accepted sockets inherit are set on the listener.
/// </summary>
internal sealed class EpollListener : EpollHandle, IDisposable
{
    private const int MaxBatch = 64;

    /// <summary>
    /// How many connections are accepted at a stop, at most: more than any backlog. Connections that come faster than they are accepted do
    /// not keep a listener open.
    /// </summary>
    private const int MaxRest = 10_000;

    /// <summary>After so many connections it checks whether they stay on the loop that accepts them.</summary>
    private const int Sample = 32;

    /// <summary>How long it lets the other loops accept when they do not stay.</summary>
    private static readonly TimeSpan _rest = TimeSpan.FromSeconds(1);

    /// <summary>The wait after an accept that failed because descriptors or memory were short. Then it tries again, without end.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(100);

    private readonly EpollLoop _loop;
    private readonly Action<int, IPEndPoint?> _accepted;
    private readonly Action<SocketError>? _failed;
    private readonly IAcceptGate? _room;
    private readonly Action _resume;
    private readonly Lock _gate = new();
    private readonly bool _isOpenToOthers;
    private readonly bool _isShared;
    private readonly uint _interest;
    private EpollListener[] _all = [];
    private int _descriptor;
    private int _batch = 1;
    private volatile bool _isListening = true;
    private int _sampled;
    private long _departed;
    private long _arrived;

    private EpollListener(
        EpollLoop loop,
        int descriptor,
        IPEndPoint endPoint,
        bool isShared,
        bool isOneOfSeveral,
        Action<int, IPEndPoint?> accepted,
        Action<SocketError>? failed,
        IAcceptGate? room)
    {
        _interest = isOneOfSeveral ? EpollEvents.In | EpollEvents.Exclusive : EpollEvents.In;
        _room = room;
        _resume = () => Listen(true);
        _loop = loop;
        _isShared = isShared;
        _descriptor = descriptor;
        _accepted = accepted;
        _failed = failed;
        EndPoint = endPoint;
        _isOpenToOthers = !IPAddress.IsLoopback(endPoint.Address);
    }

    /// <summary>Its address.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>
    /// Listens on a bound socket and starts to accept. Of several sleeping loops one is woken for each new connection (EPOLLEXCLUSIVE), so
    /// a loop that is free accepts it, and serves it. There is one socket for all loops: with a socket of its own each loop would have its
    /// own queue, which would wait while that loop is busy.
    /// </summary>
    /// <param name="loops">The loops.</param>
    /// <param name="bound">
    /// The socket. The listeners own it, and it is disposed of if this call fails. A socket that already listens also belongs to another
    /// process, which keeps it and the connections that wait in it.
    /// </param>
    /// <param name="backlog">How many connections the kernel holds until they are accepted.</param>
    /// <param name="accepted">
    /// Called on a loop's thread with the loop, each connection's non-blocking descriptor, which the callee then owns, and the peer's
    /// address.
    /// </param>
    /// <param name="failed">Called when descriptors or memory were short; accepting continues after a pause.</param>
    /// <param name="room">Says when no connection may be accepted for a while; null: always accept.</param>
    /// <returns>The listeners, one for each loop, to be stopped together.</returns>
    /// <exception cref="SocketException">The socket cannot listen.</exception>
    public static IReadOnlyList<EpollListener> StartAll(
        IReadOnlyList<EpollLoop> loops, Socket bound, int backlog, Action<EpollLoop, int, IPEndPoint?> accepted,
        Action<SocketError>? failed, IAcceptGate? room)
    {
        var endPoint = (IPEndPoint)bound.LocalEndPoint!;
        var isShared = NewConnections.AreSharedBy(bound);
        var first = DescriptorOf.Take(bound);
        var listeners = new List<EpollListener>(loops.Count);
        try
        {
            foreach (var loop in loops)
            {
                var descriptor = listeners.Count == 0 ? first : DescriptorOf.Duplicate(first);
                listeners.Add(Start(
                    loop, descriptor, endPoint, isShared, loops.Count > 1, backlog, (connection, peer) => accepted(loop, connection, peer),
                    failed, room));
            }
        }
        catch (SocketException)
        {
            listeners.ForEach(static listener => listener.Dispose());
            throw;
        }

        EpollListener[] all = [.. listeners];
        Array.ForEach(all, listener => listener._all = all);
        return all;
    }

    private static unsafe EpollListener Start(
        EpollLoop loop,
        int descriptor,
        IPEndPoint endPoint,
        bool isShared,
        bool isOneOfSeveral,
        int backlog,
        Action<int, IPEndPoint?> accepted,
        Action<SocketError>? failed,
        IAcceptGate? room)
    {
        var on = 1;
        _ = Libc.SetSocketOption(descriptor, Libc.IpProtoTcp, Libc.TcpNoDelay, &on, sizeof(int));
        UnsentBytes.LimitOn(descriptor);
        LoopbackCongestion.ApplyTo(descriptor, endPoint.Address);
        var errno = Libc.Listen(descriptor, backlog) == 0 ? 0 : Errno.Last;
        var listener = new EpollListener(loop, descriptor, endPoint, isShared, isOneOfSeveral, accepted, failed, room);
        if (errno == 0)
        {
            lock (listener._gate)
            {
                errno = loop.Register(listener, descriptor, listener._interest);
            }
        }

        if (errno != 0)
        {
            _ = Libc.Close(descriptor);
            throw new SocketException((int)Errno.ToSocketError(errno));
        }

        return listener;
    }

    /// <inheritdoc/>
    public override void OnEvents(uint mask)
    {
        var accepted = AcceptBatch();
        if (_all.Length > 1 && (_sampled += accepted) >= Sample)
        {
            RestUnlessTheyStay();
        }
    }

    private int AcceptBatch()
    {
        var accepted = 0;
        for (; accepted < _batch; accepted++)
        {
            if (_room is { IsOpen: false } room)
            {
                if (accepted == 0)
                {
                    // A connection waits, or there would be no event. Listening stops first, because the gate may open before the call
                    // returns.
                    Listen(false);
                    room.WhenOpen(_resume);
                }

                return accepted;
            }

            var errno = AcceptOne();
            if (errno == Errno.Again || _descriptor < 0)
            {
                _batch = Math.Max(1, accepted);
                return accepted;
            }

            if (errno != 0 && !Errno.IsOneConnections(errno))
            {
                Listen(false);
                _failed?.Invoke(Errno.ToSocketError(errno));
                _ = ListenAfterAsync(_pause);
                return accepted;
            }
        }

        // More connections may wait. The listener is level-triggered, so the next round reports them.
        _batch = Math.Min(MaxBatch, _batch * 2);
        return accepted;
    }

    /// <summary>
    /// A loop without a used uplink would accept connections only to give them away: with its first request each moves to its uplink's
    /// loop, which costs two registrations and a wake-up. So when most connections leave and none arrives, the other loops accept for a
    /// while. At least one loop always accepts, because connections arrive at the loops that have the uplinks.
    /// </summary>
    private void RestUnlessTheyStay()
    {
        var statistics = _loop.Statistics;
        var (left, came) = (statistics.Departed - _departed, statistics.Arrived - _arrived);
        (_sampled, _departed, _arrived) = (0, statistics.Departed, statistics.Arrived);
        if (left >= Sample / 4 * 3 && came == 0)
        {
            Listen(false);
            WakeOthers();
            _ = ListenAfterAsync(_rest);
        }
    }

    /// <inheritdoc/>
    public override void OnLoopStopped() => Dispose();

    /// <inheritdoc/>
    public override void OnLoopLost() => WakeOthers();

    /// <summary>The kernel may have woken only this loop for a connection that waits in the queue.</summary>
    private void WakeOthers()
    {
        foreach (var other in _all)
        {
            if (other != this && other._isListening && other._loop.IsInService)
            {
                other._loop.Schedule(static listener => ((EpollListener)listener!).OnEvents(EpollEvents.In), other);
            }
        }
    }

    /// <inheritdoc/>
    public override void OnFault()
    {
        // Accepting continues as before.
    }

    /// <summary>Stops listening, after it has accepted the connections in the kernel's queue, which a close would reset.</summary>
    /// <returns>Completes when it is closed and the last connection was passed on.</returns>
    public async Task StopAsync()
    {
        if (TryHoldNewConnections())
        {
            await Task.Delay(NewConnections.Handshakes).ConfigureAwait(false);
        }

        var stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(_ => AcceptTheRest(_isShared ? MaxRest : 0, stopped), null);
        await stopped.Task.ConfigureAwait(false);
    }

    /// <summary>Stops listening. Accepted connections are not touched.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            if (_descriptor >= 0)
            {
                if (_isListening)
                {
                    _loop.Unregister(this, _descriptor);
                }

                _ = Libc.Close(_descriptor);
                _descriptor = -1;
            }
        }
    }

    private bool TryHoldNewConnections()
    {
        lock (_gate)
        {
            return !_isShared && _descriptor >= 0 && NewConnections.TryHold(_descriptor);
        }
    }

    private void AcceptTheRest(int accepted, TaskCompletionSource stopped)
    {
        if (!_loop.IsInService)
        {
            // No code here would serve them.
            accepted = MaxRest;
        }

        for (var last = Math.Min(MaxRest, accepted + MaxBatch); accepted < last; accepted++)
        {
            var errno = _room is { IsOpen: false } ? Errno.Again : AcceptOne();
            if (errno != 0 && !Errno.IsOneConnections(errno))
            {
                accepted = MaxRest;
            }
        }

        if (accepted < MaxRest)
        {
            _loop.Turns.Schedule(_ => AcceptTheRest(accepted, stopped), null);
            return;
        }

        Dispose();
        stopped.SetResult();
    }

    private unsafe int AcceptOne()
    {
        var address = stackalloc byte[SocketAddressBytes.MaxLength];
        uint length = SocketAddressBytes.MaxLength;
        int accepted;
        lock (_gate)
        {
            if (_descriptor < 0)
            {
                return Errno.Canceled;
            }

            accepted = Libc.Accept(_descriptor, address, &length, Libc.SockNonBlock | Libc.SockCloseOnExec);
            if (accepted < 0)
            {
                return Errno.Last;
            }
        }

        var peer = SocketAddressBytes.Read(new ReadOnlySpan<byte>(address, (int)Math.Min(length, SocketAddressBytes.MaxLength)));
        if (_isOpenToOthers)
        {
            LoopbackCongestion.ApplyTo(accepted, peer?.Address);
        }

        try
        {
            _accepted(accepted, peer);
        }
        catch (Exception exception)
        {
            // A fault with one connection: the next ones are still accepted.
            _loop.Faults.Add("accept", exception);
        }

        return 0;
    }

    private async Task ListenAfterAsync(TimeSpan pause)
    {
        await Task.Delay(pause).ConfigureAwait(false);
        Listen(true);
    }

    private void Listen(bool isOn)
    {
        lock (_gate)
        {
            if (_descriptor < 0 || isOn == _isListening)
            {
                return;
            }

            // Removed and added again, because an exclusive wait cannot be modified.
            _isListening = isOn;
            if (isOn)
            {
                _ = _loop.Register(this, _descriptor, _interest);
            }
            else
            {
                _loop.Unregister(this, _descriptor);
            }
        }
    }
}
