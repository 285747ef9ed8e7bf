using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// A public port of UDP. The datagrams of one address are an association, until none came for a while. There is a limit of associations for
/// each port, apart from visitors' connections, because any machine can forge addresses. Above it, associations that are silent make room:
/// many clients, as those of DNS, ask each question from another port. If none is silent, datagrams of further ones are dropped. It waits
/// on the pool, not on an event loop. Thread-safe.
/// </summary>
internal sealed class DatagramListener : IDisposable
{
    /// <summary>Associations of a port, at most.</summary>
    private const int MostAssociations = 1024;

    /// <summary>Associations of one address (IPv6: /64), at most.</summary>
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

    /// <summary>Bytes of the kernel's queues: a burst of large datagrams.</summary>
    private const int KernelQueue = 1024 * 1024;

    private readonly ConcurrentDictionary<SocketAddress, DatagramAssociation> _associations = new();
    private readonly Socket _socket;
    private readonly ConnectionLimit _limit = new("associations", MostAssociations, MostOfAddress);
    private readonly Func<VisitorTransport, Task> _serve;
    private readonly DatagramMemory _memory;
    private readonly Action _dropped;
    private readonly ContainedFaults _faults;
    private readonly TimeProvider _clock;
    private long _lookedAt;
    private int _ending;

    private DatagramListener(
        Socket bound, Func<VisitorTransport, Task> serve, DatagramMemory memory, Action dropped, ContainedFaults faults,
        TimeProvider clock)
    {
        _clock = clock;
        _socket = bound;
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
        var socket = new Socket(endPoint.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
            {
                socket.DualMode = true;
            }

            socket.ReceiveBufferSize = socket.SendBufferSize = KernelQueue;
            socket.Bind(endPoint);
            socket.Blocking = false;
            return new DatagramListener(socket, serve, memory, dropped, faults, clock);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Stops listening; associations end.</summary>
    public void Dispose()
    {
        _socket.Dispose();
        foreach (var (_, association) in _associations)
        {
            association.End();
        }
    }

    private async Task ReceiveAsync()
    {
        var buffer = GC.AllocateUninitializedArray<byte>(LargestDatagram, pinned: true);
        var visitor = new SocketAddress(_socket.AddressFamily);
        while (true)
        {
            int length;
            try
            {
                length = await _socket.ReceiveFromAsync(buffer, SocketFlags.None, visitor).ConfigureAwait(false);
            }
            catch (ObjectDisposedException)
            {
                return;
            }
            catch (SocketException exception)
            {
                if (_socket.SafeHandle.IsClosed || exception.SocketErrorCode is SocketError.OperationAborted)
                {
                    return;
                }

                // An answer to what was sent to a visitor that is gone: the next receive is not concerned.
                continue;
            }

            try
            {
                OnDatagram(visitor, buffer.AsSpan(0, length));
            }
            catch (Exception exception)
            {
                _faults.Add(FaultPlace, exception);
            }
        }
    }

    private void OnDatagram(SocketAddress visitor, ReadOnlySpan<byte> datagram)
    {
        // One that is over may still be on its way out of the table.
        if ((!_associations.TryGetValue(visitor, out var association) || association.IsOver) && (association = TryAdd(visitor)) is null)
        {
            _dropped();
            return;
        }

        if (!association.TryWrite(datagram))
        {
            _dropped();
        }
    }

    private DatagramAssociation? TryAdd(SocketAddress visitor)
    {
        var remote = (IPEndPoint)_socket.LocalEndPoint!.Create(visitor);
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
        var association = new DatagramAssociation(_socket, own, _memory, _clock) { Place = place };
        _associations[own] = association;
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
                _associations.TryRemove(KeyValuePair.Create(association.Visitor, association));
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
            _associations.TryRemove(KeyValuePair.Create(association.Visitor, association));
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
}
