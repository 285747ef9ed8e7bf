using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>A port that has an owner. The gate of <see cref="PortTable"/> guards it, except reading <see cref="Target"/>.</summary>
internal sealed class PublicPort(int port, AgentIdentity owner, string name, RawTarget target)
{
    private volatile RawTarget _target = target;

    /// <summary>The port.</summary>
    public int Port => port;

    /// <summary>The agent for whom it is kept.</summary>
    public AgentIdentity Owner { get; set; } = owner;

    /// <summary>The name of the last session that had it.</summary>
    public string Name { get; set; } = name;

    /// <summary>Where its connections lead; from any thread.</summary>
    public RawTarget Target
    {
        get => _target;
        set => _target = value;
    }

    /// <summary>Sessions that have it: two for a moment, when an agent comes back before its lost session is over.</summary>
    public int Users { get; set; }

    /// <summary>Whether a session served on it, so that it is kept.</summary>
    public bool HasServed { get; set; }

    /// <summary>When its last session ended, a timestamp of the clock.</summary>
    public long LeftAt { get; set; }

    /// <summary>Its listener; null after the time in which visitors wait for the agent.</summary>
    public IDisposable? Listener { get; set; }

    /// <summary>The places of the listener's descriptors among those of visitors' connections.</summary>
    public List<ConnectionPlace> Places { get; } = [];
}
