using System.Globalization;
using System.Net;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// How many connections agents may have after their handshake, and how many sessions each agent. An agent above the limit gets a REJECT
/// that says so, and may come again. Thread-safe.
/// </summary>
internal sealed class UplinkQuota : IUplinkPlaces
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _sessions = new(StringComparer.OrdinalIgnoreCase);
    private readonly ProxyEntrySettings _settings;
    private readonly AgentRegistry _agents;
    private int _connections;
    private int _mostConnections = int.MaxValue;

    public UplinkQuota(ProxyEntrySettings settings, AgentRegistry agents)
    {
        _settings = settings;
        _agents = agents;
    }

    /// <inheritdoc/>
    public int Connections => Volatile.Read(ref _connections);

    /// <inheritdoc/>
    public int MostConnections
    {
        get => Volatile.Read(ref _mostConnections);
        set => Volatile.Write(ref _mostConnections, value);
    }

    /// <summary>
    /// The holder that a new session counts to: its agent, or for an agent without a token its address. Null when it counts to none, as for
    /// agents without a token on this machine.
    /// </summary>
    public static string? HolderOf(AgentGrant? grant, IPAddress? address) =>
        grant is not null ? "agent " + grant.AgentId
        : address is null || IPAddress.IsLoopback(address) ? null
        : "address " + AddressKey.Of(address);

    /// <summary>Takes a session's place and that of its first connection.</summary>
    /// <param name="session">The session.</param>
    /// <param name="replaces">Whether it takes over a name from a session of the same agent, which then ends.</param>
    /// <returns>The reason for the agent when there is no place; null when it has the places.</returns>
    public string? TryEnter(EntrySession session, bool replaces)
    {
        lock (_gate)
        {
            if (_connections >= MostConnections)
            {
                return "The server has as many connections of agents as it may.";
            }

            if (session.Holder is { } holder)
            {
                var most = (session.Grant is { } grant ? _agents.Current.Find(grant.AgentId)?.Sessions : null)
                    ?? _settings.SessionsPerAgent;
                var present = _sessions.GetValueOrDefault(holder);

                // An agent that comes back while its lost session is still registered only takes its own place, but not any number of
                // times.
                if (present >= (replaces ? 2L * most : most))
                {
                    return string.Create(
                        CultureInfo.InvariantCulture,
                        $"The {(session.Grant is null ? "address" : "agent")} has {present} sessions, and may have {most}.");
                }

                _sessions[holder] = present + 1;
            }

            _connections++;
            return null;
        }
    }

    /// <summary>Takes the place of a session's further connection. The last quarter is kept for first connections of sessions.</summary>
    public bool TryJoin()
    {
        lock (_gate)
        {
            if (_connections >= MostConnections - (MostConnections / 4))
            {
                return false;
            }

            _connections++;
            return true;
        }
    }

    /// <summary>A connection is over.</summary>
    public void LeaveConnection()
    {
        lock (_gate)
        {
            _connections--;
        }
    }

    /// <summary>A session is over.</summary>
    public void LeaveSession(EntrySession session)
    {
        if (session.Holder is not { } holder)
        {
            return;
        }

        lock (_gate)
        {
            if (--_sessions[holder] == 0)
            {
                _sessions.Remove(holder);
            }
        }
    }
}
