using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>The sessions with nodes that the servers have announced.</summary>
internal sealed partial class ServerGroup
{
    private const string OtherCluster = "other-cluster";
    private const string SameNode = "same-node";

    /// <summary>How long news of one session may be behind those of another one.</summary>
    private static readonly TimeSpan _news = TimeSpan.FromSeconds(5);

    /// <summary>
    /// How long no session with a further node is begun after one was superseded: whether another process has the name is judged before.
    /// </summary>
    private static readonly TimeSpan _judged = AnnouncedSessions.Respect + TimeSpan.FromSeconds(2);

    /// <summary>The pause between two sessions that take the places of others: a server may announce other zones all the time.</summary>
    private static readonly TimeSpan _replacing = TimeSpan.FromSeconds(30);

    /// <summary>When a session began that takes the place of another one; null: none has.</summary>
    private long? _replacedAt;

    /// <summary>Whether a server has announced nodes, or will.</summary>
    private bool _wasAnnounced;

    /// <summary>Whether there was a session: what is said of further ones comes after it.</summary>
    private bool _wasReady;

    /// <summary>When a session was superseded at last; null: none was.</summary>
    private long? _superseded;

    /// <summary>When a session was lost at last, and for how long another one that serves makes up for it; null: none was.</summary>
    private (long At, TimeSpan Leisure)? _lost;

    /// <summary>An announced node with which there is no session, and why; null: there was one since.</summary>
    private ServerStatus? _unused;

    /// <summary>Whether servers may say which other nodes there are.</summary>
    internal bool TakesNodes => MayTakeNodes(_options);

    /// <summary>Whether a session is one of several: from the first announcement on, for as long as the agent runs.</summary>
    internal bool IsOneOfSeveral
    {
        get
        {
            lock (_gate)
            {
                return _options.Further.Count > 0 || _wasAnnounced;
            }
        }
    }

    /// <summary>Completes when something has changed that decides how many sessions are wanted, and where.</summary>
    internal Task WhenChanged => Volatile.Read(ref _changed).Task;

    /// <summary>A server has taken a session.</summary>
    /// <returns>Why the session must not continue, or null.</returns>
    internal Rejection? Welcomed(ServerReports server, WelcomeMessage welcome)
    {
        lock (_gate)
        {
            var node = welcome.Announcement?.Node ?? "";
            if (server.Announced is { } announced)
            {
                if (welcome.Name != announced.Options.Name || !HostsOf(announced.Urls).Intersect(HostsOf(welcome.PublicUrls)).Any())
                {
                    return new Rejection(RejectionReason.Other, OtherCluster, "announced, and not used: it is of another cluster");
                }

                if (node.Length > 0
                    && _servers.Find(one => one != server && !one.IsAway && one.Urls.Count > 0 && one.Node == node) is { } present)
                {
                    // The node has taken the place of its older session for the new one. The older one may come back, this one does not.
                    present.TakenOver = _timeProvider.GetTimestamp();
                    return new Rejection(
                        RejectionReason.Other, SameNode,
                        $"announced as {announced.Node.Node}, and not used: it is {node}, with which there is a session already");
                }
            }

            server.Node = node.Length > 0 ? node : server.Node;
            if (welcome.Announcement is { } announcement && TakesNodes)
            {
                _wasAnnounced = true;
                server.Welcome = welcome;
                server.Zone = announcement.Zone;
                if (_known.Learn(
                    announcement, server.Options! with { Name = welcome.Name }, welcome.PublicUrls) is { } unused
                    && _known.Count == 0)
                {
                    _unused = new ServerStatus(unused.Server, IsConnected: false, unused.Why);
                }
            }
        }

        Changed();
        return null;
    }

    /// <summary>A server has sent another list of nodes.</summary>
    internal void Heard(ServerReports server, NodeAnnouncement announcement)
    {
        lock (_gate)
        {
            if (!TakesNodes || server.Welcome is not { } welcome)
            {
                return;
            }

            _known.Learn(announcement, server.Options! with { Name = welcome.Name }, welcome.PublicUrls, isNews: true);
        }

        Changed();
    }

    /// <summary>
    /// Takes a place for a session with an announced node, if one more is wanted and there is such a node, or one in another zone than two
    /// sessions that are in the same.
    /// </summary>
    internal (AgentOptions Options, ServerReports Reports)? TryEnter()
    {
        lock (_gate)
        {
            if (!_wasReady || LeftOfJudgementUnsynchronized() > TimeSpan.Zero || LeftOfLeisureUnsynchronized() > TimeSpan.Zero)
            {
                return null;
            }

            string[] zones = [.. _servers.Where(static one => !one.IsAway && !one.IsReplaced).Select(static one => one.Zone)];
            if (_known.Choose(
                [.. _servers.Where(static one => !one.IsAway).Select(static one => one.Node)],
                [.. _servers.Select(static one => one.Server)],
                zones) is not { } node)
            {
                return null;
            }

            // A server that is away is made up for. One that is tried for the first time is waited for.
            ServerReports? replaced = null;
            if (_servers.Count(static one => (one.Announced is not null || !one.IsAway) && !one.IsReplaced) >= _options.Nodes)
            {
                replaced = FindWorseUnsynchronized(node, zones);
                if (replaced is null)
                {
                    return null;
                }

                _replacedAt = _timeProvider.GetTimestamp();
            }

            var options = node.Options with { IsOneOfSeveral = true };
            var reports = new ServerReports(this, options.Server, node) { Options = options, Replaces = replaced };
            _servers.Add(reports);
            return (options, reports);
        }
    }

    /// <summary>How long until a node that is left alone may be tried; null: there is none.</summary>
    internal TimeSpan? NextIn()
    {
        lock (_gate)
        {
            return LeftOfJudgementUnsynchronized() is var left && left > TimeSpan.Zero ? left
                : LeftOfLeisureUnsynchronized() is var leisure && leisure > TimeSpan.Zero ? leisure
                : _known.NextIn() is { } next ? next
                : LeftOfReplacingUnsynchronized() is var pause && pause > TimeSpan.Zero ? pause
                : null;
        }
    }

    /// <summary>How much of the time is left that another session gives to make up for one that was lost.</summary>
    private TimeSpan LeftOfLeisureUnsynchronized() =>
        _lost is { } lost && HasSession() ? lost.Leisure - _timeProvider.GetElapsedTime(lost.At) : TimeSpan.Zero;

    /// <summary>
    /// A session is over, and another one serves: when a node dies, agents that have nothing else come first, and the others at any time of
    /// some seconds.
    /// </summary>
    private void NoteLossUnsynchronized() => _lost = (
        _timeProvider.GetTimestamp(), BackoffSchedule.Default.ServedCeiling * Random.Shared.NextDouble());

    private TimeSpan LeftOfReplacingUnsynchronized() =>
        _replacedAt is { } at ? _replacing - _timeProvider.GetElapsedTime(at) : TimeSpan.Zero;

    /// <summary>
    /// The session whose place a node should take: its zone has another session, and the node's has none. All of them run.
    /// </summary>
    private ServerReports? FindWorseUnsynchronized(KnownNode node, string[] zones) =>
        node.Node.Zone.Length == 0 || zones.Contains(node.Node.Zone) || _known.HasFailed(node)
        || LeftOfReplacingUnsynchronized() > TimeSpan.Zero
        || _servers.Exists(static one => one is { Announced: not null, IsConnected: false })
            ? null
            : _servers.FindLast(one => one is { Announced: not null, Zone.Length: > 0, IsConnected: true }
                && !one.Leaving.IsCancellationRequested
                && _servers.Exists(other => other != one && other.IsConnected && other.Zone == one.Zone));

    private TimeSpan LeftOfJudgementUnsynchronized() =>
        _superseded is { } at ? _judged - _timeProvider.GetElapsedTime(at) : TimeSpan.Zero;

    private void NoteEndUnsynchronized(ConnectionEnd end) =>
        _superseded = end.Reason == ConnectionEndReason.Superseded ? _timeProvider.GetTimestamp() : _superseded;

    /// <summary>Whether there is a session with a server, or a node, that takes requests.</summary>
    internal bool IsServed
    {
        get
        {
            lock (_gate)
            {
                return HasSession();
            }
        }
    }

    /// <summary>Waits until there is such a session, or none.</summary>
    /// <param name="isServed">Which of the two.</param>
    /// <param name="unless">Ends the wait.</param>
    /// <returns>Whether it is so.</returns>
    internal async Task<bool> IsAsync(bool isServed, Task unless)
    {
        while (!unless.IsCompleted)
        {
            var changed = WhenChanged;
            if (IsServed == isServed)
            {
                return true;
            }

            await Task.WhenAny(changed, unless).ConfigureAwait(false);
        }

        return false;
    }

    /// <summary>Gives the place back.</summary>
    internal void Leave(ServerReports server, ConnectionEnd end)
    {
        lock (_gate)
        {
            var had = HasSession();
            NoteEndUnsynchronized(end);
            _servers.Remove(server);
            var wasConnected = server.Urls.Count > 0 && !server.IsReplaced;
            var isNew = false;
            if (end.Reason != ConnectionEndReason.Stopped && !server.IsReplaced)
            {
                if (wasConnected)
                {
                    NoteLossUnsynchronized();
                }

                _known.Failed(server.Announced!, end.Reason == ConnectionEndReason.RejectedPermanently, end.RetryAfter);

                // Of nodes that fail one after the other, only the first one is said.
                isNew = _unused is null;
                _unused = new ServerStatus(server.Server, IsConnected: false, WordsFor(server, end));
            }

            if (!_ending.IsCancellationRequested && (wasConnected || isNew))
            {
                if (HasSession())
                {
                    SayServersUnsynchronized();
                }
                else if (had && end.Reason != ConnectionEndReason.Stopped)
                {
                    _events.ConnectionEnded(end);
                }
            }
        }

        server.Dispose();
        Changed();
    }

    /// <summary>
    /// Judges why a session with a given server has ended: one whose place another session of this agent took, because an announced
    /// address leads to the same node, comes back.
    /// </summary>
    internal async Task<ConnectionEnd> JudgeAsync(ServerReports server, ConnectionEnd end, CancellationToken stop)
    {
        if (end.Reason != ConnectionEndReason.Superseded || !TakesNodes)
        {
            return end;
        }

        // The news of the other session may be a moment behind.
        var started = _timeProvider.GetTimestamp();
        while (!stop.IsCancellationRequested)
        {
            var changed = WhenChanged;
            TimeSpan left;
            lock (_gate)
            {
                if (server.TakenOver is { } at && _timeProvider.GetElapsedTime(at) < _news)
                {
                    server.TakenOver = null;
                    return ConnectionEnd.Lost("An announced address led to the same node, which let go of this session.", end.UpTime);
                }

                left = _news - _timeProvider.GetElapsedTime(started);
                if (left <= TimeSpan.Zero || !_servers.Exists(static one => one is { Announced: not null, IsConnected: false }))
                {
                    return end;
                }
            }

            await changed.WaitAsync(left, _timeProvider, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        return end;
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

    /// <summary>All of them, without nodes that are tried for the first time. Where one is missing, with one that cannot be used.</summary>
    private ServerStatus[] Read()
    {
        ServerStatus[] all =
        [
            .. _servers.Where(static one => (one.Announced is null || one.IsConnected || one.Urls.Count > 0) && !one.IsReplaced)
                .Select(static one => new ServerStatus(one.Server, one.IsConnected, one.Message)),
        ];
        return _unused is { } unused && all.Count(static one => one.IsConnected) < _options.Nodes
            && !all.Any(one => one.Server == unused.Server)
                ? [.. all, unused]
                : all;
    }

    private string WordsFor(ServerReports server, ConnectionEnd end) =>
        end.Rejection is { Code: OtherCluster or SameNode, Text: var own } ? own
        : end.Rejection is { Code: nameof(RejectCode.SessionRunning), Text: var its } ? $"announced as {server.Node}, and not used: {its}"
        : end.Reason == ConnectionEndReason.Superseded && HasSession() ? "another session of this agent is at that node"
        : end.Message;

    private static bool MayTakeNodes(AgentOptions options) =>
        options is { Kind: SessionKind.Http, Nodes: > 1, ExitOnFailure: false };

    /// <summary>
    /// A server that was made up for is back, or is now at the node of an announced one: one session too many ends in order.
    /// </summary>
    private void LeaveSurplusUnsynchronized(ServerReports server)
    {
        if (server.Replaces is { IsConnected: true } replaced && !replaced.Leaving.IsCancellationRequested)
        {
            replaced.Replace();
        }

        var announced = _servers.FindAll(
            static one => one.Announced is not null && !one.IsReplaced && !one.Leaving.IsCancellationRequested);
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
