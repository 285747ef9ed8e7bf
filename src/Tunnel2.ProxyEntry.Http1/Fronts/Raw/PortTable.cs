using System.Collections.Frozen;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// The ports of sessions of TCP, or of UDP. A port belongs to the owner of its session, also for a while after the session. In the time in
/// which requests wait for an absent agent, its listener stays open, and connections wait too. Thread-safe.
/// </summary>
internal sealed partial class PortTable : IDisposable
{
    /// <summary>How many ports that other programs or other nodes use are tried at most when any port will do.</summary>
    public const int MostAttempts = 16;

    private static readonly TimeSpan _period = TimeSpan.FromSeconds(1);

    /// <summary>When an agent should ask again that got no port.</summary>
    private static readonly TimeSpan _later = TimeSpan.FromSeconds(10);

    /// <summary>The same, if the port will probably be free in a moment.</summary>
    private static readonly TimeSpan _soon = TimeSpan.FromSeconds(2);

    /// <summary>Which part of the places of visitors' connections the listeners of a table may take: ports keep out no visitor.</summary>
    private const int Share = 4;

    private readonly Lock _gate = new();
    private readonly SortedDictionary<int, PublicPort> _ports = [];
    private readonly SessionKind _kind;
    private readonly PortRange? _range;
    private readonly int _mostOfAgent;
    private readonly IPAddress _address;
    private readonly string _domain;
    private readonly TimeSpan _parked;
    private readonly TimeSpan _kept;
    private readonly int _descriptors;
    private readonly Func<PublicPort, IPEndPoint, IDisposable> _listen;
    private readonly ConnectionLimit _visitors;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly ITimer _timer;
    private int _placesTaken;
    private bool _isStopped;

    /// <param name="kind">What its sessions carry.</param>
    /// <param name="range">The ports; null for none.</param>
    /// <param name="address">Their address.</param>
    /// <param name="settings">The settings.</param>
    /// <param name="listen">Listens on a port.</param>
    /// <param name="descriptors">Descriptors of a listener, which have places among those of visitors' connections.</param>
    /// <param name="visitors">The limit of visitors' connections.</param>
    /// <param name="faults">Counts faults of ours.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log.</param>
    public PortTable(
        SessionKind kind,
        PortRange? range,
        IPAddress address,
        ProxyEntrySettings settings,
        Func<PublicPort, IPEndPoint, IDisposable> listen,
        int descriptors,
        ConnectionLimit visitors,
        ContainedFaults faults,
        TimeProvider timeProvider,
        ILogger logger)
    {
        _kind = kind;
        _range = range;
        _mostOfAgent = (kind == SessionKind.Udp ? settings.Udp.PortsPerAgent : settings.Tcp.PortsPerAgent) ?? range?.PartOfOne ?? 0;
        _address = address;
        _domain = settings.Domain;
        _parked = settings.ParkTimeout;
        _kept = settings.Tcp.KeepPort > _parked ? settings.Tcp.KeepPort : _parked;
        _listen = listen;
        _descriptors = descriptors;
        _visitors = visitors;
        _timeProvider = timeProvider;
        _logger = logger;
        _timer = timeProvider.CreateTimer(
            _ => faults.Run("ports of tunnels", static self => self.Look(), this),
            null,
            Timeout.InfiniteTimeSpan,
            Timeout.InfiniteTimeSpan);
    }

    /// <summary>Ports that a session has, and all that have an owner.</summary>
    public (int Used, int All) Counts
    {
        get
        {
            lock (_gate)
            {
                return (_ports.Values.Count(static port => port.Users > 0), _ports.Count);
            }
        }
    }

    /// <summary>Gives a port; see <see cref="ITunnelPorts.TakeAsync"/>.</summary>
    /// <param name="name">The session's name.</param>
    /// <param name="owner">Its owner.</param>
    /// <param name="wanted">The port that the agent wants; 0: any.</param>
    /// <param name="takesAnother">Whether another port will do.</param>
    /// <param name="others">Ports that other nodes have just got, which are not given; null: none.</param>
    public TunnelPort Take(string name, AgentIdentity owner, int wanted, bool takesAnother, IReadOnlySet<int>? others = null)
    {
        others ??= FrozenSet<int>.Empty;
        lock (_gate)
        {
            if (_isStopped)
            {
                return Refuse("The server is stopping.", _soon);
            }

            if (wanted != 0 && !others.Contains(wanted))
            {
                var result = TakeUnsynchronized(wanted, name, owner, out _);
                if (result.Lease is not null || !takesAnother)
                {
                    return result;
                }
            }

            return TakeAnyUnsynchronized(name, owner, others);
        }
    }

    /// <summary>The answer for a port that another name has at another node.</summary>
    public static TunnelPort RefuseOfAnotherNode(int port) =>
        Refuse($"The port {port} belongs to another agent, at another node.", _later);

    /// <summary>The answer for a port that a name does not have yet, while it is not known what other nodes give.</summary>
    public static TunnelPort RefuseUndecided(int port, string reason) =>
        Refuse($"The port {port} cannot be given now, because another node may be giving it too: {reason}", _soon);

    /// <summary>Closes all listeners; connections stay.</summary>
    public void StopAccepting()
    {
        lock (_gate)
        {
            _isStopped = true;
            foreach (var port in _ports.Values)
            {
                CloseUnsynchronized(port);
            }

            StopForeignUnsynchronized();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        StopAccepting();
        _timer.Dispose();
    }

    private static TunnelPort Refuse(string text, TimeSpan again) =>
        new(null, new RejectMessage(RejectCode.PortNotAvailable, again, text));

    /// <summary>
    /// The same for a name and owner in every process, so that an agent often finds its port again after a restart of ours.
    /// </summary>
    private static uint Hash(string name, AgentIdentity owner)
    {
        // FNV-1a.
        var hash = 2_166_136_261u;
        foreach (var c in owner.Value)
        {
            hash = (hash ^ c) * 16_777_619;
        }

        foreach (var c in name)
        {
            hash = (hash ^ c) * 16_777_619;
        }

        return hash;
    }

    private TunnelPort TakeUnsynchronized(int port, string name, AgentIdentity owner, out bool isInUse)
    {
        isInUse = false;
        if (_range is not { } range || !range.Contains(port))
        {
            return Refuse($"The port {port} is not one that this server gives: {_range}.", TimeSpan.Zero);
        }

        if (_ports.TryGetValue(port, out var present))
        {
            if (present.Owner != owner)
            {
                if (present.Users > 0)
                {
                    return Refuse($"The port {port} belongs to another agent.", TimeSpan.Zero);
                }

                if (_kept - _timeProvider.GetElapsedTime(present.LeftAt) is { Ticks: > 0 } left)
                {
                    return Refuse($"The port {port} is kept for the agent that had it.", left);
                }

                RemoveUnsynchronized(present);
            }
            else if (present.Users > 0 && present.Name != name)
            {
                return Refuse(
                    $"The port {port} leads to another tunnel of the same agent, '{present.Name}'; agents that share a port need one name.",
                    _soon);
            }
        }

        if (!_ports.ContainsKey(port) && IsOfAnotherUnsynchronized(port, name))
        {
            return RefuseOfAnotherNode(port);
        }

        return OpenUnsynchronized(port, name, owner, out isInUse);
    }

    private TunnelPort TakeAnyUnsynchronized(string name, AgentIdentity owner, IReadOnlySet<int> others)
    {
        var range = _range!.Value;
        PublicPort? oldest = null;
        foreach (var port in _ports.Values)
        {
            if (others.Contains(port.Port))
            {
                continue;
            }

            if (port.Owner == owner && port.Name == name)
            {
                return OpenUnsynchronized(port.Port, name, owner, out _);
            }

            if (port.Users == 0 && !IsOfAnotherUnsynchronized(port.Port, name) && (oldest is null || port.LeftAt < oldest.LeftAt))
            {
                oldest = port;
            }
        }

        if (PortOfUnsynchronized(name) is { } known && !others.Contains(known))
        {
            return OpenUnsynchronized(known, name, owner, out _);
        }

        if (IsAtLimitUnsynchronized(owner, out var left, heir: name, others))
        {
            return left is null ? RefuseOfLimit() : OpenUnsynchronized(left.Port, name, owner, out _);
        }

        var first = (int)(Hash(name, owner) % (uint)range.Count);
        var attempts = 0;
        for (var i = 0; i < range.Count; i++)
        {
            var port = range.First + ((first + i) % range.Count);
            if (_ports.ContainsKey(port) || others.Contains(port) || IsOfAnotherUnsynchronized(port, name))
            {
                continue;
            }

            var result = OpenUnsynchronized(port, name, owner, out var isInUse);
            if (!isInUse || ++attempts == MostAttempts)
            {
                return result;
            }
        }

        if (oldest is not null && _timeProvider.GetElapsedTime(oldest.LeftAt) >= _parked)
        {
            RemoveUnsynchronized(oldest);
            return OpenUnsynchronized(oldest.Port, name, owner, out _);
        }

        return Refuse($"All ports that this server gives are taken: {range}.", _later);
    }

    /// <summary>Gives a port, which is free or the owner's, and listens on it if it has no listener.</summary>
    private TunnelPort OpenUnsynchronized(int port, string name, AgentIdentity owner, out bool isInUse)
    {
        isInUse = false;
        var target = TargetOf(name, port);
        var isKnown = IsOfUnsynchronized(port, name);
        PublicPort? left = null;
        if (!_ports.TryGetValue(port, out var entry))
        {
            if (IsAtLimitUnsynchronized(owner, out left) && left is null)
            {
                return RefuseOfLimit();
            }

            entry = new PublicPort(port, owner, name, target);
        }

        entry = AdoptUnsynchronized(entry, owner);

        if (entry.Listener is null)
        {
            if (!HasDescriptorsUnsynchronized())
            {
                return Refuse("The server has no open files left for a further port.", _later);
            }

            if (ListenUnsynchronized(entry) is { } problem)
            {
                isInUse = problem == SocketError.AddressAlreadyInUse;
                ProxyEntryLog.PortNotOpened(_logger, _kind, port, problem.ToString());
                return isInUse
                    ? Refuse($"The port {port} is in use by another program on the server.", _later)
                    : Refuse($"The port {port} cannot be opened on the server: {problem}.", _later);
            }
        }

        entry.Name = name;
        entry.Target = target;
        entry.Users++;
        _ports[port] = entry;
        if (left is not null)
        {
            RemoveUnsynchronized(left);
            MirrorUnsynchronized(left.Port);
        }

        return new TunnelPort(new Lease(this, entry), null) { IsKnown = isKnown };
    }

    /// <summary>Whether there are descriptors for a further listener.</summary>
    private bool HasDescriptorsUnsynchronized() =>
        _visitors.Count + _descriptors < _visitors.Most && _placesTaken + _descriptors <= _visitors.Most / Share;

    /// <returns>Why it cannot; null: it listens.</returns>
    private SocketError? ListenUnsynchronized(PublicPort entry)
    {
        try
        {
            entry.Listener = _listen(entry, new IPEndPoint(_address, entry.Port));
        }
        catch (SocketException exception)
        {
            return exception.SocketErrorCode;
        }

        for (var i = 0; i < _descriptors && _visitors.TryEnter(null, out var place); i++)
        {
            entry.Places.Add(place);
            _placesTaken++;
        }

        return null;
    }

    private void Leave(PublicPort port, bool isKept)
    {
        lock (_gate)
        {
            port.Users--;
            port.HasServed |= isKept;
            if (port.Users > 0)
            {
                return;
            }

            port.LeftAt = _timeProvider.GetTimestamp();
            if (!port.HasServed)
            {
                RemoveUnsynchronized(port);
            }
            else if (!_isStopped)
            {
                _timer.Change(_period, _period);
            }
        }
    }

    /// <summary>Closes the listeners of agents that do not come back, and forgets the ports that were kept long enough.</summary>
    private void Look()
    {
        lock (_gate)
        {
            List<PublicPort>? over = null;
            var isAnyLeft = false;
            foreach (var port in _ports.Values)
            {
                if (port.Users > 0)
                {
                    continue;
                }

                var absent = _timeProvider.GetElapsedTime(port.LeftAt);
                if (absent >= _kept)
                {
                    (over ??= []).Add(port);
                    continue;
                }

                isAnyLeft = true;
                if (absent >= _parked && port.Listener is not null)
                {
                    CloseUnsynchronized(port);
                    MirrorUnsynchronized(port.Port);
                }
            }

            over?.ForEach(RemoveUnsynchronized);
            over?.ForEach(port => MirrorUnsynchronized(port.Port));
            if (!isAnyLeft)
            {
                _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
        }
    }

    private void RemoveUnsynchronized(PublicPort port)
    {
        _ports.Remove(port.Port);
        if (!TryReturnUnsynchronized(port))
        {
            CloseUnsynchronized(port);
        }
    }

    private void CloseUnsynchronized(PublicPort port)
    {
        port.Listener?.Dispose();
        port.Listener = null;
        _placesTaken -= port.Places.Count;
        port.Places.ForEach(_visitors.Leave);
        port.Places.Clear();
    }

    private sealed class Lease(PortTable ports, PublicPort port) : PortLease
    {
        public override int Port => port.Port;

        protected override void End() => ports.Leave(port, IsKept);
    }
}
