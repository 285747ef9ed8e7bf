using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>The lists of nodes that come on the uplinks of one session: an older one never counts after a newer one. Thread-safe.</summary>
internal sealed class NodeLists(IClusterPlace place)
{
    private readonly Lock _gate = new();
    private uint _newest;

    /// <summary>Takes a list over, unless there was a newer one.</summary>
    public void OnList(uint counter, NodeAnnouncement list)
    {
        lock (_gate)
        {
            if (counter <= _newest)
            {
                return;
            }

            _newest = counter;
            place.Heard(list);
        }
    }

    /// <summary>The place has another session now.</summary>
    public void Close()
    {
        lock (_gate)
        {
            _newest = uint.MaxValue;
        }
    }
}
