using System.Collections.Concurrent;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>The front for visitors that do not speak HTTP with ProxyEntry: TCP, and TLS that is not opened here. Thread-safe.</summary>
internal sealed class RawFront : IDisposable
{
    private static readonly TimeSpan _period = TimeSpan.FromSeconds(1);

    private readonly ConcurrentDictionary<RawConnection, bool> _open = new();
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
    private readonly long _idleLimit;
    private readonly long _datagramLimit;
    private int _isLooking;

    public RawFront(
        IForwarder forwarder, ProxyEntrySettings settings, TimeProvider timeProvider, ContainedFaults faults, ILogger<RawFront> logger)
    {
        Forwarder = forwarder;
        Clock = timeProvider;
        Logger = logger;
        _idleLimit = settings.Tcp.MostSilent;
        HalfClosedLimit = settings.Tcp.MostHalfClosed;
        _datagramLimit = (long)settings.Udp.Idle.TotalMilliseconds;
        _faults = faults;
        _timer = timeProvider.CreateTimer(
            static self => ((RawFront)self!).Look(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public IForwarder Forwarder { get; }

    public TimeProvider Clock { get; }

    public ILogger Logger { get; }

    /// <summary>Milliseconds that a connection may be silent of which one direction has ended.</summary>
    public long HalfClosedLimit { get; }

    /// <summary>Milliseconds that a connection may be silent.</summary>
    public long IdleLimitOf(SessionKind kind) => kind == SessionKind.Udp ? _datagramLimit : _idleLimit;

    /// <summary>Serves a connection until it ends. Never throws.</summary>
    /// <param name="transport">The connection. Bytes that were only looked at are still in it.</param>
    /// <param name="target">Where it leads.</param>
    public Task ServeAsync(VisitorTransport transport, RawTarget target)
    {
        var connection = new RawConnection(this, transport, target);
        _open.TryAdd(connection, true);

        BeginToLook();
        return connection.RunAsync();
    }

    /// <summary>A connection has ended.</summary>
    public void Remove(RawConnection connection) => _open.TryRemove(connection, out _);

    /// <inheritdoc/>
    public void Dispose() => _timer.Dispose();

    /// <summary>One timer for all connections, which does not run while there are none.</summary>
    private void BeginToLook()
    {
        if (Volatile.Read(ref _isLooking) == 0 && Interlocked.Exchange(ref _isLooking, 1) == 0)
        {
            _timer.Change(_period, _period);
        }
    }

    private void Look()
    {
        if (_open.IsEmpty)
        {
            _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            Volatile.Write(ref _isLooking, 0);
            if (!_open.IsEmpty)
            {
                // A connection came between the two.
                BeginToLook();
            }
        }

        foreach (var (connection, _) in _open)
        {
            _faults.Run("visitors' limits", static connection => connection.EndIfLost(), connection);
        }
    }
}
