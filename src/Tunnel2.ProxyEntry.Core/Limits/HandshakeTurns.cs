using System.Net;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// Whose TLS handshake is computed next. A server's part of a handshake takes a processor for about a millisecond. In one queue for all,
/// those of an address that begins a thousand in a second would come before everybody else's. So each address (IPv6: /64) has a queue of
/// its own, and the queues take turns. Thread-safe.
/// </summary>
/// <remarks>
/// A turn is the call of what follows the wait, until that code waits itself. So no turn can be kept, and none is given back. The queues
/// need no limit of their own: each waiting handshake is a connection, and connections are limited.
/// </remarks>
internal sealed class HandshakeTurns(int atOnce, ContainedFaults faults) : IThreadPoolWorkItem
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, Queue<Action>> _waiting = [];
    private readonly Queue<AddressKey> _order = [];
    private int _running;
    private volatile int _count;

    /// <summary>Handshakes that wait for their turn.</summary>
    public int Waiting => _count;

    /// <summary>The next turn of an address, to be awaited: what follows runs on the thread pool when it comes.</summary>
    /// <param name="address">The address of the peer; all unknown ones count as one.</param>
    public HandshakeTurn Next(IPAddress? address) => new(this, AddressKey.OfAny(address));

    /// <summary>Calls something in the next turn of an address.</summary>
    public void Add(AddressKey address, Action work)
    {
        lock (_gate)
        {
            if (!_waiting.TryGetValue(address, out var queue))
            {
                _waiting.Add(address, queue = new Queue<Action>(1));
                _order.Enqueue(address);
            }

            queue.Enqueue(work);
            _count++;
            if (_running == atOnce)
            {
                return;
            }

            _running++;
        }

        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    /// <summary>One turn. After it the other work of the pool comes first.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        if (TakeNext() is { } work)
        {
            faults.Run("turns of handshakes", static work => work(), work);
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    private Action? TakeNext()
    {
        lock (_gate)
        {
            if (!_order.TryDequeue(out var address))
            {
                _running--;
                return null;
            }

            var queue = _waiting[address];
            var work = queue.Dequeue();
            _count--;
            if (queue.Count > 0)
            {
                _order.Enqueue(address);
            }
            else
            {
                _waiting.Remove(address);
            }

            return work;
        }
    }
}
