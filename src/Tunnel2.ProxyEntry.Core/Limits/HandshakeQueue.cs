using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>Agents' connections that are still in their handshake, the oldest first. Thread-safe.</summary>
/// <param name="limit">The limit of such connections.</param>
/// <param name="timeProvider">The clock.</param>
/// <param name="hasOthers">
/// Whether there are other nodes, whose agents may come at once; null: there are none. A server that is alone has nobody to spare then:
/// after its restart all of its agents come, and all visitors wait for them.
/// </param>
internal sealed class HandshakeQueue(ConnectionLimit limit, TimeProvider timeProvider, Func<bool>? hasOthers = null)
{
    private readonly Lock _gate = new();
    private readonly LinkedList<PendingHandshake> _pending = [];
    private readonly HandshakePace _pace = new(Environment.ProcessorCount, timeProvider);

    /// <summary>The limit of such connections.</summary>
    public ConnectionLimit Limit { get; } = limit;

    /// <summary>When one that was accepted may begin. A quarter of the places, at most, is kept for those that wait.</summary>
    /// <returns>False: it was given up.</returns>
    public ValueTask<bool> WaitForTurnAsync(CancellationToken stopping) =>
        hasOthers?.Invoke() == true ? _pace.WaitAsync(Limit.Most / 4, stopping) : ValueTask.FromResult(true);

    /// <summary>A connection begins its handshake; <see cref="PendingHandshake.Finish"/> must follow.</summary>
    public PendingHandshake Add(IUplinkTransport transport, ConnectionPlace place)
    {
        var handshake = new PendingHandshake(this, transport, place, timeProvider.GetTimestamp());
        lock (_gate)
        {
            handshake.Node = _pending.AddLast(handshake);
        }

        return handshake;
    }

    /// <summary>Ends the oldest, to make room.</summary>
    /// <param name="most">How many at most.</param>
    /// <param name="least">Only handshakes that have lasted this long.</param>
    /// <returns>How many were ended.</returns>
    public int EndOldest(int most, TimeSpan least)
    {
        var slow = new List<PendingHandshake>();
        lock (_gate)
        {
            for (var node = _pending.First;
                 node is not null && slow.Count < most && timeProvider.GetElapsedTime(node.Value.Began) >= least;
                 node = node.Next)
            {
                if (!node.Value.IsCut)
                {
                    node.Value.IsCut = true;
                    slow.Add(node.Value);
                }
            }
        }

        foreach (var handshake in slow)
        {
            handshake.Transport.Abort();
        }

        return slow.Count;
    }

    /// <summary>A connection in its handshake. Its place is given back exactly once.</summary>
    internal sealed class PendingHandshake(HandshakeQueue queue, IUplinkTransport transport, ConnectionPlace place, long began)
    {
        /// <summary>The connection, below its TLS.</summary>
        public IUplinkTransport Transport { get; } = transport;

        /// <summary>When it began.</summary>
        public long Began { get; } = began;

        /// <summary>Whether it was ended to make room. Guarded by the queue's gate.</summary>
        public bool IsCut { get; set; }

        /// <summary>Its place in the queue; null when it has left it. Guarded by the queue's gate.</summary>
        public LinkedListNode<PendingHandshake>? Node { get; set; }

        /// <summary>The handshake is over, or the connection is closed.</summary>
        public void Finish()
        {
            lock (queue._gate)
            {
                if (Node is null)
                {
                    return;
                }

                queue._pending.Remove(Node);
                Node = null;
            }

            queue.Limit.Leave(place);
        }
    }
}
