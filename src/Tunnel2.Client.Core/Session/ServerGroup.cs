using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The sessions of an agent with several servers, which come and go each for itself. To its user they are one tunnel: it is ready while
/// there is a session with one of them, and its public URLs are shown once. Thread-safe.
/// </summary>
internal sealed class ServerGroup : IDisposable
{
    private readonly Lock _gate = new();
    private readonly AgentOptions _options;
    private readonly IAgentEvents _events;
    private readonly CancellationToken _stop;
    private readonly CancellationTokenSource _ending;
    private readonly ServerReports[] _servers;
    private string[] _urls = [];
    private bool _saidConnecting;
    private bool _saidDraining;
    private bool _isUnreachable;

    /// <param name="options">The agent's; with further servers.</param>
    /// <param name="events">Its user's.</param>
    /// <param name="stop">Stops all sessions.</param>
    public ServerGroup(AgentOptions options, IAgentEvents events, CancellationToken stop)
    {
        _options = options;
        _events = events;
        _stop = stop;
        _ending = CancellationTokenSource.CreateLinkedTokenSource(stop);
        _servers = [new ServerReports(this, options.Server), .. options.Further.Select(one => new ServerReports(this, one.Server))];
    }

    /// <summary>Runs all of them to their end.</summary>
    /// <param name="run">
    /// Holds sessions with one server: its options, its events, whether it is the first, and what ends it. Returns an exit code.
    /// </param>
    /// <returns>The exit code of the agent.</returns>
    public async Task<int> RunAsync(Func<AgentOptions, IAgentEvents, bool, CancellationToken, Task<int>> run)
    {
        // Whether the agent ends when no server can be reached is decided here: one that is reached is enough.
        var common = _options with { Further = [], IsOneOfSeveral = true, ExitOnFailure = false };
        AgentOptions[] each = [common, .. _options.Further.Select(one => one.Apply(common))];
        var codes = await Task.WhenAll(each.Select((one, i) => run(one, _servers[i], i == 0, _ending.Token))).ConfigureAwait(false);
        lock (_gate)
        {
            if (_isUnreachable && !_stop.IsCancellationRequested)
            {
                return AgentExitCode.ServerUnreachable;
            }
        }

        if (_stop.IsCancellationRequested || Array.TrueForAll(codes, static code => code == AgentExitCode.Stopped))
        {
            _events.Stopped();
            return AgentExitCode.Stopped;
        }

        return codes.Max();
    }

    /// <inheritdoc/>
    public void Dispose() => _ending.Dispose();

    /// <summary>An attempt to reach one of them begins. The user hears of the first one.</summary>
    internal void Connecting(ServerEndpoint server)
    {
        lock (_gate)
        {
            if (_saidConnecting)
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
            string[] urls = [.. _servers.Where(static one => one.IsConnected).SelectMany(static one => one.Urls).Distinct()];

            // Servers that are no cluster have other URLs: those are shown too.
            isNew = isFirst || urls.Except(_urls).Any();
            _urls = isNew ? urls : _urls;
            server.Message =
                Array.Find(_servers, one => one != server && one.IsConnected && !HostsOf(one.Urls).Intersect(HostsOf(publicUrls)).Any())
                    is { } other
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

            _events.Servers(Read());
        }
    }

    /// <summary>A session with one of them ended, or did not come about.</summary>
    internal void Ended(ServerReports server, ConnectionEnd end)
    {
        lock (_gate)
        {
            (server.IsConnected, server.Message) = (false, end.Message);
            server.IsUnreachable = end.Reason == ConnectionEndReason.ServerUnreachable;
            server.IsOver = end.Reason is ConnectionEndReason.RejectedPermanently or ConnectionEndReason.Superseded;
            if (HasSession())
            {
                _events.Servers(Read());
                return;
            }

            _events.ConnectionEnded(end);
            if (!_options.ExitOnFailure || !Array.TrueForAll(_servers, static one => one.IsUnreachable || one.IsOver))
            {
                return;
            }

            _isUnreachable = Array.Exists(_servers, static one => one.IsUnreachable);
        }

        if (_isUnreachable)
        {
            // Not on this thread: it is the one that would have to end.
            _ = _ending.CancelAsync();
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

            (server.IsConnected, server.Message) = (false, "The server is stopping.");
            if (HasSession())
            {
                _events.Servers(Read());
            }
            else
            {
                _events.Draining();
            }
        }
    }

    /// <summary>Passes on how one of them is reached, unless that is the usual way and has always been.</summary>
    internal void Routed(ServerReports server, UplinkRoute route)
    {
        lock (_gate)
        {
            if (route is { Way: UplinkWay.Direct, Proxy: null } && !server.WasDetour)
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

    private bool HasSession() => Array.Exists(_servers, static one => one.IsConnected);

    private ServerStatus[] Read() => [.. _servers.Select(static one => new ServerStatus(one.Server, one.IsConnected, one.Message))];

    private UplinkReading ReadUplinks()
    {
        var sum = default(UplinkReading);
        foreach (var server in _servers)
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
