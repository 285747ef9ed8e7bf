using Tunnel2.Client.Core.Backend;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Which event loop each uplink of the process lives on. An uplink that joins others gets a loop of its own, which is started for it
/// where none is free and there may be one more; the first of a session is content with what there is. A loop that is out of service gets
/// none. One for all tunnels of a process. Thread-safe.
/// </summary>
internal sealed class UplinkLoops(IEngine engine)
{
    private readonly Lock _gate = new();

    /// <summary>Uplinks on each loop, by its number.</summary>
    private readonly int[] _uplinks = new int[EpollEngine.MaxLoops];

    /// <summary>Takes a place for an uplink that is about to be dialled.</summary>
    /// <param name="tunnel">The idle connections of its tunnel: the uplink's exchanges have theirs on its loop.</param>
    /// <param name="joins">Whether it joins others of its session.</param>
    /// <returns>The place, to be disposed of after the uplink; null where there are no loops.</returns>
    public UplinkPlace? Take(IdleConnections tunnel, bool joins)
    {
        lock (_gate)
        {
            EpollLoop? best = null;
            var (own, all) = (0, 0);
            foreach (var loop in engine.Loops)
            {
                if (!loop.IsInService && engine.Loops.Count > 1)
                {
                    continue;
                }

                var (ownHere, allHere) = (tunnel.UplinksOn(loop), _uplinks[loop.Number]);
                if (best is null || ownHere < own || (ownHere == own && allHere < all))
                {
                    (best, own, all) = (loop, ownHere, allHere);
                }
            }

            if (joins && all > 0)
            {
                best = engine.TryAddLoop() ?? best;
            }

            if (best is null)
            {
                return null;
            }

            _uplinks[best.Number]++;
            tunnel.Enter(best);
            return new UplinkPlace(this, best, tunnel);
        }
    }

    private void Leave(EpollLoop loop)
    {
        lock (_gate)
        {
            _uplinks[loop.Number]--;
        }
    }

    /// <summary>An uplink's place on a loop, from before it is dialled until it is disposed of.</summary>
    internal sealed class UplinkPlace(UplinkLoops owner, EpollLoop loop, IdleConnections tunnel) : IDisposable
    {
        private int _disposed;

        public EpollLoop Loop => loop;

        /// <summary>Gives it back, once.</summary>
        public void Dispose()
        {
            if (Interlocked.Exchange(ref _disposed, 1) == 0)
            {
                owner.Leave(loop);
                tunnel.Leave(loop);
            }
        }
    }
}
