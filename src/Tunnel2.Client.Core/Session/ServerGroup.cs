using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The sessions of an agent with several servers, which come and go each for itself. To its user they are one tunnel: it is ready while
/// there is a session with one of them, and its public URLs are shown once. While there is only one server its events pass as they are.
/// Thread-safe.
/// </summary>
internal sealed partial class ServerGroup : IDisposable
{
    private readonly Lock _gate = new();
    private readonly AgentOptions _options;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly CancellationToken _stop;
    private readonly CancellationTokenSource _ending;
    private readonly KnownNodes _known;
    private readonly List<ServerReports> _servers;
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private string[] _urls = [];
    private ConnectionEnd? _unsaid;
    private bool _saidConnecting;
    private bool _saidDraining;
    private ServerStatus[] _said = [];
    private bool _saidStopped;
    private bool _isUnreachable;
    private bool _isReplaced;

    /// <param name="options">The agent's.</param>
    /// <param name="events">Its user's.</param>
    /// <param name="stop">Stops all sessions.</param>
    /// <param name="timeProvider">The clock; null: the system's.</param>
    public ServerGroup(AgentOptions options, IAgentEvents events, CancellationToken stop, TimeProvider? timeProvider = null)
    {
        _options = options;
        _events = events;
        _timeProvider = timeProvider ?? TimeProvider.System;
        _known = new KnownNodes(_timeProvider, Random.Shared);
        _stop = stop;
        _ending = CancellationTokenSource.CreateLinkedTokenSource(stop);
        _servers = [new ServerReports(this, options.Server), .. options.Further.Select(one => new ServerReports(this, one.Server))];
    }

    /// <summary>Whether the agent has several servers, or may get them.</summary>
    public static bool IsNeededFor(AgentOptions options) => options.Further.Count > 0 || MayTakeNodes(options);

    /// <summary>Runs all of them to their end.</summary>
    /// <param name="run">
    /// Holds sessions with one server: its options, its events, whether it is the first, and what ends it. Returns an exit code.
    /// </param>
    /// <param name="hold">Holds one session with an announced node; null: there are none.</param>
    /// <returns>The exit code of the agent.</returns>
    public async Task<int> RunAsync(
        Func<AgentOptions, IAgentEvents, bool, CancellationToken, Task<int>> run,
        Func<AgentOptions, ServerReports, CancellationToken, Task<(ConnectionEnd End, Task Retired)>>? hold = null)
    {
        // Whether the agent ends when no server can be reached is decided here: one that is reached is enough.
        var common = _options with { Further = [], IsOneOfSeveral = _options.Further.Count > 0, ExitOnFailure = false };
        AgentOptions[] each = [common, .. _options.Further.Select(one => one.Apply(common))];
        for (var i = 0; i < each.Length; i++)
        {
            _servers[i].Options = each[i];
        }

        ServerReports[] given = [.. _servers];
        using var over = CancellationTokenSource.CreateLinkedTokenSource(_ending.Token);
        var announced = hold is null || !TakesNodes
            ? Task.CompletedTask
            : new AnnouncedSessions(this, hold, _timeProvider).RunAsync(_options.Nodes + 1, over.Token);
        var codes = await Task.WhenAll(each.Select((one, i) => run(one, given[i], i == 0, _ending.Token))).ConfigureAwait(false);
        await over.CancelAsync().ConfigureAwait(false);
        await announced.ConfigureAwait(false);
        lock (_gate)
        {
            if (!_stop.IsCancellationRequested && _unsaid is { } end)
            {
                // While there were other sessions it was no end.
                _events.ConnectionEnded(end);
            }

            if (!_stop.IsCancellationRequested && (_isUnreachable || _isReplaced))
            {
                return _isReplaced ? AgentExitCode.Rejected : AgentExitCode.ServerUnreachable;
            }
        }

        if (_stop.IsCancellationRequested || Array.TrueForAll(codes, static code => code == AgentExitCode.Stopped))
        {
            SayStopped();
            return AgentExitCode.Stopped;
        }

        return codes.Max();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _ending.Dispose();
        _servers.ForEach(static server => server.Dispose());
    }

    /// <summary>An attempt to reach one of them begins. The user hears of the first one.</summary>
    internal void Connecting(ServerEndpoint server)
    {
        lock (_gate)
        {
            if (_saidConnecting && !IsAlone)
            {
                return;
            }

            _saidConnecting = true;
        }

        _events.Connecting(server);
    }

    /// <summary>There is a session with one of them.</summary>
    internal void Ready(
        ServerReports server, IReadOnlyList<string> publicUrls, BackendTarget upstream, IReadOnlyList<ServiceRoute>? routes)
    {
        bool isNew;
        lock (_gate)
        {
            var isFirst = !HasSession();
            (server.IsConnected, server.Message, server.Urls, server.IsUnreachable) = (true, null, publicUrls, false);
            server.IsAway = false;
            _wasReady = true;
            if (server.Announced is { } announced)
            {
                _known.Succeeded(announced);
            }

            _unused = server.Announced is null ? _unused : null;
            LeaveSurplusUnsynchronized(server);
            string[] urls = [.. _servers.Where(static one => one.IsConnected).SelectMany(static one => one.Urls).Distinct()];

            // Servers that are no cluster have URLs with other hosts: those are shown too. Nodes may differ in their ports.
            isNew = isFirst || IsAlone || HostsOf(urls).Except(HostsOf(_urls)).Any();
            _urls = isNew ? urls : _urls;
            server.Message = _servers.Find(one =>
                one != server && one.IsConnected && !HostsOf(one.Urls).Intersect(HostsOf(publicUrls)).Any()) is { } other
                    ? $"it is of another cluster than {other.Server}, and has a public URL of its own"
                    : null;
            if (isNew)
            {
                _events.Uplinks(ReadUplinks);
                if (routes is null)
                {
                    _events.Ready(_urls, upstream);
                }
                else
                {
                    _events.Ready(_urls, upstream, routes);
                }
            }

            if (!IsAlone || _unused is not null)
            {
                SayServersUnsynchronized();
            }
        }

        Changed();
    }

    /// <summary>A session with one of them ended, or did not come about.</summary>
    internal void Ended(ServerReports server, ConnectionEnd end)
    {
        lock (_gate)
        {
            NoteEndUnsynchronized(end);
            if (server is { IsAway: false, Urls.Count: > 0 })
            {
                NoteLossUnsynchronized();
            }

            (server.IsConnected, server.Message) = (false, end.Message);
            server.IsAway = true;
            server.IsUnreachable = end.Reason == ConnectionEndReason.ServerUnreachable;
            server.IsOver = end.Reason is ConnectionEndReason.RejectedPermanently or ConnectionEndReason.Superseded;
            if (HasSession())
            {
                _unsaid = server.IsOver ? end : _unsaid;
                SayServersUnsynchronized();
            }
            else
            {
                _unsaid = null;
                _events.ConnectionEnded(end);
                if (_options.ExitOnFailure && _servers.TrueForAll(static one => one.IsUnreachable || one.IsOver))
                {
                    _isUnreachable = _servers.Exists(static one => one.IsUnreachable);
                }
            }
        }

        Changed();
        if (_isUnreachable)
        {
            // Not on this thread: it is the one that would have to end.
            _ = _ending.CancelAsync();
        }
    }

    /// <summary>
    /// Says with which servers there are sessions, where that has changed. One that is alone, and always was, is none of several.
    /// </summary>
    private void SayServersUnsynchronized()
    {
        var all = Read();
        if ((all.Length > 1 || _said.Length > 0) && !all.SequenceEqual(_said))
        {
            _said = all;
            _events.Servers(all);
        }
    }

    /// <summary>The wait before the next attempt at one of them begins; the user hears of it while there is no session.</summary>
    internal void Reconnecting(TimeSpan delay)
    {
        lock (_gate)
        {
            if (!HasSession())
            {
                _events.Reconnecting(delay);
            }
        }
    }

    /// <summary>One of them takes no new requests.</summary>
    internal void Draining(ServerReports server)
    {
        lock (_gate)
        {
            if (_stop.IsCancellationRequested)
            {
                if (!_saidDraining)
                {
                    _saidDraining = true;
                    _events.Draining();
                }

                return;
            }

            if (server.IsReplaced)
            {
                return;
            }

            (server.IsConnected, server.Message) = (
                false, server.Leaving.IsCancellationRequested ? "The session is not needed any more." : "The server is stopping.");
            if (HasSession())
            {
                SayServersUnsynchronized();
            }
            else
            {
                _events.Draining();
            }
        }
    }

    /// <summary>One of them tries no more. Where there are several, it is said of the last one.</summary>
    internal void OneStopped()
    {
        lock (_gate)
        {
            if (!IsAlone)
            {
                return;
            }
        }

        SayStopped();
    }

    private void SayStopped()
    {
        if (!Interlocked.Exchange(ref _saidStopped, true))
        {
            _events.Stopped();
        }
    }

    /// <summary>Passes on how one of them is reached, unless that is the usual way and has always been.</summary>
    internal void Routed(ServerReports server, UplinkRoute route)
    {
        lock (_gate)
        {
            if (!IsAlone && route is { Way: UplinkWay.Direct, Proxy: null } && !server.WasDetour)
            {
                return;
            }

            server.WasDetour = true;
            _events.Routed(route);
        }
    }

    /// <summary>What does not depend on the server.</summary>
    internal IAgentEvents Events => _events;

    /// <summary>Nodes on one machine have one name and several ports.</summary>
    private static IEnumerable<string> HostsOf(IReadOnlyList<string> urls) =>
        urls.Select(static url => Uri.TryCreate(url, UriKind.Absolute, out Uri? uri) ? uri.Host : url);

    /// <summary>One server, as for an agent that knows of no others.</summary>
    private bool IsAlone => _servers.Count == 1;

    private bool HasSession() => _servers.Exists(static one => one.IsConnected);

    private UplinkReading ReadUplinks()
    {
        ServerReports[] servers;
        lock (_gate)
        {
            servers = [.. _servers];
        }

        var sum = default(UplinkReading);
        foreach (var server in servers)
        {
            if (server.ReadUplinks is not { } read || !server.IsConnected)
            {
                continue;
            }

            var one = read();
            sum = new UplinkReading(
                sum.Open + one.Open,
                sum.Stalled + one.Stalled,
                sum.Shortest == TimeSpan.Zero || (one.Shortest > TimeSpan.Zero && one.Shortest < sum.Shortest)
                    ? one.Shortest
                    : sum.Shortest,
                one.Longest > sum.Longest ? one.Longest : sum.Longest,
                sum.WebSockets + one.WebSockets);
        }

        return sum;
    }
}
