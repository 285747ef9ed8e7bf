using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>The sessions with nodes that the servers have announced.</summary>
internal sealed partial class ServerGroup
{
    /// <summary>Whether servers may say which other nodes there are.</summary>
    internal bool TakesNodes => MayTakeNodes(_options);

    /// <summary>Whether a session is one of several: from the first announcement on, for as long as the agent runs.</summary>
    internal bool IsOneOfSeveral
    {
        get
        {
            lock (_gate)
            {
                return _options.Further.Count > 0 || _known.Count > 0;
            }
        }
    }

    /// <summary>Completes when something has changed that decides how many sessions are wanted, and where.</summary>
    internal Task WhenChanged => Volatile.Read(ref _changed).Task;

    /// <summary>A server has taken a session.</summary>
    /// <returns>Why the session must not go on, or null.</returns>
    internal string? Welcomed(ServerReports server, WelcomeMessage welcome)
    {
        lock (_gate)
        {
            if (server.Announced is not null
                && (welcome.Name != _name || !HostsOf(_firstUrls).Intersect(HostsOf(welcome.PublicUrls)).Any()))
            {
                return "The announced node is of another cluster.";
            }

            _name ??= welcome.Name;
            _firstUrls = _firstUrls.Count == 0 ? welcome.PublicUrls : _firstUrls;
            if (welcome.Announcement is { } announcement && TakesNodes)
            {
                (server.Node, server.Zone) = (announcement.Node, announcement.Zone);
                _known.Learn(announcement, server.Options!);
            }
        }

        Changed();
        return null;
    }

    /// <summary>Takes a place for a session with an announced node, if one more is wanted and there is such a node.</summary>
    internal (AgentOptions Options, ServerReports Reports)? TryEnter()
    {
        lock (_gate)
        {
            // A server that is away is made up for. One that is tried for the first time is waited for.
            if (_name is null || _servers.Count(static one => one.Announced is not null || !one.IsAway) >= _options.Nodes
                || _known.Choose(
                    [.. _servers.Where(static one => !one.IsAway).Select(static one => one.Node)],
                    [.. _servers.Select(static one => one.Server)],
                    [.. _servers.Where(static one => !one.IsAway).Select(static one => one.Zone)]) is not { } node)
            {
                return null;
            }

            var options = node.Options with { Name = _name, IsOneOfSeveral = true };
            var reports = new ServerReports(this, options.Server, node) { Options = options };
            _servers.Add(reports);
            return (options, reports);
        }
    }

    /// <summary>Gives the place back.</summary>
    internal void Leave(ServerReports server, ConnectionEnd end)
    {
        lock (_gate)
        {
            var had = HasSession();
            _servers.Remove(server);
            if (end.Reason != ConnectionEndReason.Stopped)
            {
                _known.Failed(server.Announced!, end.Reason == ConnectionEndReason.RejectedPermanently);
            }

            if (!_stop.IsCancellationRequested && server.Urls.Count > 0)
            {
                if (HasSession())
                {
                    _events.Servers(Read());
                }
                else if (had)
                {
                    _events.ConnectionEnded(end);
                }
            }
        }

        server.Dispose();
        Changed();
    }

    /// <summary>A session was superseded and no other one is there: another process has the name now, and this one is over.</summary>
    internal void EndIfReplaced()
    {
        lock (_gate)
        {
            if (HasSession())
            {
                return;
            }

            _isReplaced = true;
        }

        _ = _ending.CancelAsync();
    }

    private static bool MayTakeNodes(AgentOptions options) =>
        options is { Kind: SessionKind.Http, Nodes: > 1, ExitOnFailure: false };

    /// <summary>
    /// A server that was made up for is back, or is now at the node of an announced one: one session too many ends in order.
    /// </summary>
    private void LeaveSurplusUnsynchronized(ServerReports server)
    {
        var announced = _servers.FindAll(static one => one.Announced is not null && !one.Leaving.IsCancellationRequested);
        var twice = announced.Find(one => one != server && one.Node == server.Node);
        if (twice is not null)
        {
            twice.Leave();
        }
        else if (announced.Count > 0 && announced.Count + _servers.Count(static one => one.Announced is null && one.IsConnected)
            > Math.Max(_options.Nodes, 1 + _options.Further.Count))
        {
            announced[^1].Leave();
        }
    }

    private void Changed() => Interlocked.Exchange(
        ref _changed, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).TrySetResult();
}
