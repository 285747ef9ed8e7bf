using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Datagrams;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// A public port of UDP. The datagrams from one address to one of ours are an association, until none came for a while. There is a limit
/// of associations for each port, apart from visitors' connections, because any machine can forge addresses. Above it, associations that
/// are silent make room: many clients, as those of DNS, ask each question from another port. If none is silent, datagrams of further ones
/// are dropped. It waits on the pool, not on an event loop. Thread-safe.
/// </summary>
internal sealed class DatagramListener : IDisposable
{
    /// <summary>Associations of a port, at most.</summary>
    private const int MostAssociations = 1024;

    /// <summary>Associations of one address (IPv6: /64), at most; no more than are free, so that a few addresses leave room.</summary>
    private const int MostOfAddress = 256;

    /// <summary>Associations that make room at once, at most.</summary>
    private const int MostMakingRoom = 64;

    /// <summary>How long an association that makes room was silent, at least.</summary>
    private static readonly TimeSpan _silence = TimeSpan.FromMilliseconds(250);

    /// <summary>Between two looks for room, because each goes through all associations.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(50);

    /// <summary>Bytes that the datagrams of a port may take while they wait.</summary>
    private const long MostHeld = 16 * 1024 * 1024;

    private const string FaultPlace = "datagrams";
    private const int LargestDatagram = 65_535;

    private readonly ConcurrentDictionary<Way, DatagramAssociation> _associations = new();
    private readonly DatagramPort _port;
    private readonly ConnectionLimit _limit = new("associations", MostAssociations, MostOfAddress, leavesRoom: true);
    private readonly Func<VisitorTransport, Task> _serve;
    private readonly DatagramMemory _memory;
    private readonly Action _dropped;
    private readonly ContainedFaults _faults;
    private readonly TimeProvider _clock;
    private long _lookedAt;
    private int _ending;

    private DatagramListener(
        DatagramPort bound, Func<VisitorTransport, Task> serve, DatagramMemory memory, Action dropped, ContainedFaults faults,
        TimeProvider clock)
    {
        _clock = clock;
        _port = bound;
        _serve = serve;
        _memory = new DatagramMemory(MostHeld, memory);
        _dropped = dropped;
        _faults = faults;
        _ = Task.Run(ReceiveAsync);
    }

    /// <summary>Listens.</summary>
    /// <param name="endPoint">The address.</param>
    /// <param name="serve">Serves an association until it ends.</param>
    /// <param name="memory">Bounds what the datagrams of all ports take.</param>
    /// <param name="dropped">Called for each datagram that was dropped, from any thread.</param>
    /// <param name="faults">Counts faults of ours.</param>
    /// <param name="clock">The clock.</param>
    /// <exception cref="SocketException">The address is not available.</exception>
    public static DatagramListener Start(
        IPEndPoint endPoint, Func<VisitorTransport, Task> serve, DatagramMemory memory, Action dropped, ContainedFaults faults,
        TimeProvider clock)
    {
        var port = new DatagramPort(endPoint);
        try
        {
            return new DatagramListener(port, serve, memory, dropped, faults, clock);
        }
        catch
        {
            port.Dispose();
            throw;
        }
    }

    /// <summary>Stops listening; associations end.</summary>
    public void Dispose()
    {
        _port.Dispose();
        foreach (var (_, association) in _associations)
        {
            association.End();
        }
    }

    private async Task ReceiveAsync()
    {
        var buffer = GC.AllocateUninitializedArray<byte>(LargestDatagram, pinned: true);
        var visitor = _port.NewAddress();
        while (true)
        {
            int length;
            CalledAddress called;
            try
            {
                (length, called) = await _port.ReceiveAsync(buffer, visitor).ConfigureAwait(false);
            }
            catch (ObjectDisposedException)
            {
                return;
            }
            catch (SocketException exception)
            {
                if (_port.IsClosed || exception.SocketErrorCode is SocketError.OperationAborted)
                {
                    return;
                }

                // An answer to what was sent to a visitor that is gone: the next receive is not concerned.
                continue;
            }

            try
            {
                OnDatagram(new Way(visitor, called), buffer.AsSpan(0, length));
            }
            catch (Exception exception)
            {
                _faults.Add(FaultPlace, exception);
            }
        }
    }

    private void OnDatagram(Way way, ReadOnlySpan<byte> datagram)
    {
        // One that is over may still be on its way out of the table.
        if ((!_associations.TryGetValue(way, out var association) || association.IsOver) && (association = TryAdd(way)) is null)
        {
            _dropped();
            return;
        }

        if (!association.TryWrite(datagram))
        {
            _dropped();
        }
    }

    private DatagramAssociation? TryAdd(Way way)
    {
        var visitor = way.Visitor;
        var remote = (IPEndPoint)_port.LocalEndPoint.Create(visitor);
        if ((!_limit.IsOpen || _limit.IsAddressFull(remote.Address)) && !TryMakeRoom(remote.Address))
        {
            return null;
        }

        if (!_limit.TryEnter(remote.Address, out var place))
        {
            return null;
        }

        var own = new SocketAddress(visitor.Family, visitor.Size);
        visitor.Buffer.Span[..visitor.Size].CopyTo(own.Buffer.Span);
        var association = new DatagramAssociation(_port, own, way.Called, _memory, _clock) { Place = place };
        _associations[new Way(own, way.Called)] = association;
        _ = ServeAsync(association);
        return association;
    }

    /// <summary>Ends associations that were silent the longest: those of an address that has all of its own, else any.</summary>
    private bool TryMakeRoom(IPAddress address)
    {
        var now = _clock.GetTimestamp();
        if (_clock.GetElapsedTime(_lookedAt, now) < _pause || Volatile.Read(ref _ending) >= MostAssociations)
        {
            return false;
        }

        _lookedAt = now;
        var key = _limit.IsOpen ? AddressKey.Of(address) : (AddressKey?)null;
        var silent = _associations.Values
            .Where(one => key is null || AddressKey.Of(one.Transport.Remote!.Address).Equals(key.Value))
            .Select(static one => (Association: one, one.Silence))
            .Where(static one => one.Silence >= _silence)
            .OrderByDescending(static one => one.Silence)
            .Take(MostMakingRoom)
            .ToList();
        foreach (var (association, _) in silent)
        {
            if (association.TryLeave())
            {
                Interlocked.Increment(ref _ending);
                association.End();
                _associations.TryRemove(KeyValuePair.Create(Way.Of(association), association));
                _limit.Leave(association.Place);
            }
        }

        return silent.Count > 0;
    }

    private async Task ServeAsync(DatagramAssociation association)
    {
        try
        {
            await _serve(association.Transport).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            _faults.Add(FaultPlace, exception);
        }
        finally
        {
            association.End();
            await association.Transport.Input.CompleteAsync().ConfigureAwait(false);
            _associations.TryRemove(KeyValuePair.Create(Way.Of(association), association));
            if (association.TryLeave())
            {
                _limit.Leave(association.Place);
            }
            else
            {
                // It made room.
                Interlocked.Decrement(ref _ending);
            }
        }
    }

    /// <summary>From where to where datagrams go.</summary>
    private readonly record struct Way(SocketAddress Visitor, CalledAddress Called)
    {
        public static Way Of(DatagramAssociation association) => new(association.Visitor, association.Called);
    }
}
