using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <content>
/// Ports of tunnels at other nodes of a cluster: this node listens on them too, where they are among those that it gives and are free, and
/// gives them to no other name. A session of the same name takes its port with the listener.
/// </content>
internal sealed partial class PortTable
{
    /// <summary>How many ports of other nodes are listened to at most; those of the oldest registrations.</summary>
    private const int MostForeign = 1000;

    private readonly Dictionary<int, PublicPort> _foreign = [];
    private readonly HashSet<int> _unavailable = [];
    private Dictionary<int, string> _wanted = [];

    /// <summary>Listens on the ports of other nodes' tunnels, and no longer on those that are not among them.</summary>
    public void Mirror(IReadOnlyList<ForeignTunnel> tunnels)
    {
        var wanted = new Dictionary<int, string>();
        foreach (var tunnel in tunnels)
        {
            if (tunnel.Kind == _kind && _range is { } range && range.Contains(tunnel.Port) && wanted.Count < MostForeign)
            {
                wanted.TryAdd(tunnel.Port, tunnel.Name);
            }
        }

        lock (_gate)
        {
            if (_isStopped)
            {
                return;
            }

            _wanted = wanted;
            _unavailable.IntersectWith(wanted.Keys);
            foreach (var port in _foreign.Values.Where(port => !wanted.ContainsKey(port.Port)).ToArray())
            {
                _foreign.Remove(port.Port);
                CloseUnsynchronized(port);
            }

            foreach (var port in wanted.Keys)
            {
                MirrorUnsynchronized(port);
            }
        }
    }

    /// <summary>Whether a port is that of another node's tunnel with another name.</summary>
    private bool IsOfAnotherUnsynchronized(int port, string name) => _wanted.TryGetValue(port, out var other) && other != name;

    /// <summary>Whether a port is, or was just now, that of a name: at this node or at another one.</summary>
    private bool IsOfUnsynchronized(int port, string name) =>
        _ports.TryGetValue(port, out var own) ? own.Name == name : _wanted.TryGetValue(port, out var other) && other == name;

    /// <summary>The port that a name has at another node; null: it has none.</summary>
    private int? PortOfUnsynchronized(string name)
    {
        foreach (var (port, other) in _wanted)
        {
            if (other == name && !_ports.ContainsKey(port))
            {
                return port;
            }
        }

        return null;
    }

    private void MirrorUnsynchronized(int port)
    {
        if (_isStopped || !_wanted.TryGetValue(port, out var name)
            || (_ports.TryGetValue(port, out var own) && own.Listener is not null))
        {
            return;
        }

        var target = TargetOf(name, port);
        if (_foreign.TryGetValue(port, out var present))
        {
            (present.Name, present.Target) = (name, target);
            return;
        }

        if (!HasDescriptorsUnsynchronized())
        {
            return;
        }

        var entry = new PublicPort(port, default, name, target);
        if (ListenUnsynchronized(entry) is not { } problem)
        {
            _unavailable.Remove(port);
            _foreign[port] = entry;
        }
        else if (_unavailable.Add(port))
        {
            // Tried again at every look, and said once.
            ProxyEntryLog.PortNotOpened(_logger, _kind, port, problem.ToString());
        }
    }

    /// <summary>The entry for a session of this node: that of another node's tunnel, if it has the listener.</summary>
    private PublicPort AdoptUnsynchronized(PublicPort entry, AgentIdentity owner)
    {
        if (entry.Listener is not null || !_foreign.Remove(entry.Port, out var open))
        {
            return entry;
        }

        (open.Owner, open.HasServed, open.LeftAt) = (owner, entry.HasServed, entry.LeftAt);
        return open;
    }

    /// <summary>
    /// A port is no longer this node's. Where another node has it, its listener stays open, also when a session was refused its name.
    /// </summary>
    private bool TryReturnUnsynchronized(PublicPort port)
    {
        if (port.Listener is null || _isStopped || !_wanted.TryGetValue(port.Port, out var name))
        {
            return false;
        }

        (port.Owner, port.Name, port.Target) = (default, name, TargetOf(name, port.Port));
        _foreign[port.Port] = port;
        return true;
    }

    private void StopForeignUnsynchronized()
    {
        foreach (var port in _foreign.Values)
        {
            CloseUnsynchronized(port);
        }

        _foreign.Clear();
        _wanted.Clear();
    }

    private RawTarget TargetOf(string name, int port) => new(_kind, $"{name}.{_domain}", port);
}
