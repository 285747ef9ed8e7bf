using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Http2;

/// <summary>The HTTP/2 connections of an agent to its service, on each event loop its own. Thread-safe.</summary>
internal sealed class Http2Connections : IDisposable, ISlotHolder
{
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(55);
    private static readonly TimeSpan _sweepPeriod = TimeSpan.FromSeconds(5);

    private readonly Http2LoopConnections?[] _loops = new Http2LoopConnections?[EpollEngine.MaxLoops];
    private readonly Lock _gate = new();
    private ITimer? _sweep;
    private int _waiting;
    private int _endedAfter;
    private volatile int _mostRequests = int.MaxValue;
    private bool _hasEnded;

    public Http2Connections(
        BackendTarget target, BackendConnector connector, BackendVersions versions, BufferPool buffers, ContainedFaults? faults,
        TimeProvider time)
    {
        IsHttps = target.IsHttps;
        Connector = connector;
        Versions = versions;
        Buffers = buffers;
        Faults = faults ?? new ContainedFaults(time);
        Time = time;
        connector.Slots.Add(this);
    }

    public BackendConnector Connector { get; }

    public BackendVersions Versions { get; }

    public BufferPool Buffers { get; }

    public ContainedFaults Faults { get; }

    public TimeProvider Time { get; }

    public Http2WindowBudget Windows { get; } = new();

    public bool IsHttps { get; }

    /// <summary>How many requests a new connection takes at most, as far as it is known of the service.</summary>
    public int MostRequests => _mostRequests;

    /// <summary>
    /// A connection is closed. Where two in a row were ended after the same number of requests, the next ones get no more: those that come
    /// too late would all go to the next connection, and most of them be late again. One that the service does not end there shows that it
    /// takes more by now.
    /// </summary>
    public void Learn(Http2Connection connection)
    {
        if (connection.TookMostInVain)
        {
            _mostRequests = int.MaxValue;
        }
        else if (connection.EndedAfter is > 0 and var count && Interlocked.Exchange(ref _endedAfter, count) == count)
        {
            _mostRequests = count;
        }
    }

    /// <summary>The connections of a loop; null: there are no loops.</summary>
    public Http2LoopConnections On(EpollLoop? loop)
    {
        var number = loop?.Number ?? 0;
        return Volatile.Read(ref _loops[number]) ?? Create(number, loop);
    }

    /// <summary>Requests have begun to wait for a place, or do so no more.</summary>
    public void CountWaiting(int change) => Interlocked.Add(ref _waiting, change);

    /// <summary>Where there may be no more connections: a place on one of another loop.</summary>
    public Http2Connection? TryReserveElsewhere(Http2LoopConnections loop)
    {
        if (Connector.Slots.HasRoom)
        {
            return null;
        }

        foreach (var other in _loops)
        {
            if (other is not null && other != loop && other.TryReserveForOther() is { } connection)
            {
                return connection;
            }
        }

        return null;
    }

    /// <summary>A loop may have a free place: requests of other loops may have waited for one.</summary>
    public void ServeOthers(Http2LoopConnections loop)
    {
        if (Volatile.Read(ref _waiting) == 0)
        {
            return;
        }

        foreach (var other in _loops)
        {
            if (other != loop)
            {
                other?.Serve();
            }
        }
    }

    /// <inheritdoc/>
    public bool TryGiveWay()
    {
        foreach (var loop in _loops)
        {
            if (loop?.TryGiveWay() == true)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The service speaks something else.</summary>
    public Http2Place OtherProtocol()
    {
        if (Versions.IsForced)
        {
            return new Http2Place(null, BackendFailure.Protocol(StreamResetDetail.NotHttp2));
        }

        Versions.FoundNoHttp2();
        return new Http2Place(null, BackendFailure.None, SpeaksHttp1: true);
    }

    /// <summary>
    /// The service has ended the connection without a word. Without TLS it may be one that does not know the preface; HTTP/1.1 shows it.
    /// </summary>
    public Http2Place Closed() => IsHttps || Versions.IsForced
        ? new Http2Place(null, BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse))
        : OtherProtocol();

    public void Dispose()
    {
        lock (_gate)
        {
            _hasEnded = true;
            _sweep?.Dispose();
        }

        Connector.Slots.Remove(this);

        foreach (var loop in _loops)
        {
            loop?.End();
        }
    }

    private Http2LoopConnections Create(int number, EpollLoop? loop)
    {
        lock (_gate)
        {
            if (_loops[number] is { } existing)
            {
                return existing;
            }

            var created = new Http2LoopConnections(this, loop);
            _loops[number] = created;
            if (_hasEnded)
            {
                created.End();
            }
            else
            {
                _sweep ??= Time.CreateTimer(static self => ((Http2Connections)self!).OnTimer(), this, _sweepPeriod, _sweepPeriod);
            }

            return created;
        }
    }

    private void OnTimer() => Faults.Run("connections to HTTP/2 services", static self => self.Sweep(), this);

    /// <summary>Closes what has been idle for long.</summary>
    private void Sweep()
    {
        var since = Time.GetTimestamp() - (long)(_idleLimit.TotalSeconds * Time.TimestampFrequency);
        foreach (var loop in _loops)
        {
            loop?.RetireIdleSince(since);
        }
    }
}
