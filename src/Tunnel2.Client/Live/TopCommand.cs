using System.Net.WebSockets;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Terminals;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Live;

/// <summary>
/// Runs <c>tunnel2 top</c>: a table of the sessions that refreshes every second, from the hub on a server's admin listener. On a terminal
/// keys choose what it shows.
/// </summary>
internal sealed class TopCommand
{
    private static readonly string[] _subscriptions = ["node.stats", "session.*.stats", "session.*.status"];
    private static readonly string[] _ofCluster = ["cluster.nodes", "cluster.stats", "at.*.session.*.stats", "at.*.session.*.status"];

    /// <summary>How long one table waits for the nodes of a cluster: some seconds have to pass before there is a second to show.</summary>
    private static readonly TimeSpan _leastOfNodes = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan _mostOfNodes = TimeSpan.FromSeconds(6);

    private static readonly TimeSpan _refreshEvery = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _longestDelay = TimeSpan.FromSeconds(5);

    /// <summary>By less than this the server's clock differs only because its messages take time.</summary>
    private static readonly TimeSpan _clockSlack = TimeSpan.FromSeconds(10);

    /// <summary>Subscriptions change no more often than the hub accepts, however fast keys come.</summary>
    private static readonly TimeSpan _choiceEvery = TimeSpan.FromMilliseconds(250);

    private readonly TopOptions _options;
    private readonly TopScreen _screen;
    private readonly TextWriter _error;
    private readonly TimeProvider _time;
    private readonly TopView _view;
    private readonly ITerminal? _terminal;
    private Action _quit = static () => { };
    private TimeSpan _clockOffset;
    private long? _lastSecondUs;
    private string? _note;
    private string? _followed;
    private long? _followedAt;

    internal TopCommand(TopOptions options, TopScreen screen, TextWriter error, TimeProvider time, ITerminal? terminal = null)
    {
        _options = options;
        _screen = screen;
        _error = error;
        _time = time;
        _view = new TopView(options);
        _terminal = terminal;
        Panel = new TopPanel(new TopState(options.WindowKey), options.Server, ServerNow, () => _quit());
    }

    /// <summary>What is known and chosen.</summary>
    internal TopPanel Panel { get; }

    /// <summary>Runs until <paramref name="stop"/>, or until the first table with <c>--once</c>.</summary>
    public static async Task<int> RunAsync(
        string[] args,
        Func<string, string?> environment,
        TextWriter output,
        TextWriter error,
        CancellationToken stop,
        Func<ITerminal?>? openTerminal = null)
    {
        var mistakes = new List<string>();
        if (new TopCommandLine().Parse(args, environment, mistakes) is not { } options)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(string.Join("; ", mistakes))}");
            await error.WriteLineAsync(HelpText.UsageFor(CommandLineReader.Read(args)));
            return AgentExitCode.Usage;
        }

        try
        {
            ITerminal? terminal = options.Once || options.Json ? null : openTerminal?.Invoke();
            var screen = TopScreen.OfProcess(output, isPlain: options.Json || environment("TERM") is "dumb");
            return await new TopCommand(options, screen, error, TimeProvider.System, terminal).RunAsync(stop);
        }
        catch (IOException exception)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(exception.Message)}");
            return AgentExitCode.InternalError;
        }
    }

    /// <summary>Follows the hub, and connects again when a connection is lost.</summary>
    internal async Task<int> RunAsync(CancellationToken stop)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(stop);
        _quit = () => _ = either.CancelAsync();
        using var screen = _terminal is null ? null : new TerminalScreen(_terminal, Panel, _time, _options.HasColors);
        screen?.Start();
        (int exitCode, string? mistake) = await FollowAllAsync(either.Token);

        // After the terminal is the shell's again.
        screen?.Dispose();
        if (mistake is not null)
        {
            await _error.WriteLineAsync($"tunnel2: {_options.Server}: {mistake}");
        }

        if (screen?.Fault is { } fault)
        {
            await _error.WriteLineAsync($"tunnel2: the live screen failed: {fault}");
            return AgentExitCode.InternalError;
        }

        return exitCode;
    }

    private async Task<(int ExitCode, string? Mistake)> FollowAllAsync(CancellationToken stop)
    {
        TimeSpan delay = TimeSpan.FromMilliseconds(500);
        while (!stop.IsCancellationRequested)
        {
            using var connection = new HubConnection();
            bool isFinal = false;
            try
            {
                await ConnectAsync(connection, stop);
                delay = TimeSpan.FromMilliseconds(500);
                if (await FollowAsync(connection, stop))
                {
                    return (AgentExitCode.Stopped, null);
                }

                _note = connection.DescribeClose();
            }
            catch (Exception exception) when (exception is WebSocketException or OperationCanceledException or InvalidDataException)
            {
                if (stop.IsCancellationRequested)
                {
                    break;
                }

                _note = exception is OperationCanceledException
                    ? $"no answer within {_patience.TotalSeconds:0} s"
                    : exception is InvalidDataException
                        ? exception.Message
                        : connection.Describe(exception, _options.Token is not null, out isFinal);
            }

            _note = PlainText.Clean(_note);
            Panel.Change(static state => state.IsConnected = false);
            if (_options.Once || isFinal)
            {
                return (isFinal ? AgentExitCode.Rejected : AgentExitCode.ServerUnreachable, _note);
            }

            _note += FormattableString.Invariant($"; trying again in {delay.TotalSeconds:0.0} s");
            if (_options.Json)
            {
                await _error.WriteLineAsync($"tunnel2: {_options.Server}: {_note}");
            }
            else
            {
                Show();
            }

            await Task.Delay(delay, _time, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            delay = delay * 2 < _longestDelay ? delay * 2 : _longestDelay;
        }

        return (AgentExitCode.Stopped, null);
    }

    private async Task ConnectAsync(HubConnection connection, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        await connection.ConnectAsync(_options, _time, either.Token);
        _clockOffset = connection.ClockOffset;
        Panel.Change(static state =>
        {
            state.Clear();
            return true;
        });
        _note = null;
        _followed = null;

        // A server that is a node says so, and shows the others too.
        await SubscribeAsync(connection, ["cluster.info"], either.Token);
        await SubscribeAsync(connection, Panel.Change(static state => state.IsCluster) ? _ofCluster : _subscriptions, either.Token);
    }

    /// <summary>Subscribes, and waits for all present values.</summary>
    private async Task SubscribeAsync(HubConnection connection, string[] channels, CancellationToken stop)
    {
        foreach (string channel in channels)
        {
            await connection.SendAsync($$"""{"op":"subscribe","channel":"{{channel}}"}""", stop);
        }

        // The hub answers in order, so after its answer all present values have arrived.
        await connection.SendAsync("""{"op":"ping"}""", stop);
        while (true)
        {
            if (await connection.ReceiveAsync(stop) is not { } message)
            {
                throw new InvalidDataException(connection.DescribeClose());
            }

            if (Panel.Change(state => state.Apply(message)) == "pong")
            {
                return;
            }
        }
    }

    /// <returns>False when the server closed.</returns>
    private async Task<bool> FollowAsync(HubConnection connection, CancellationToken stop)
    {
        if (_options.Once)
        {
            await WaitForNodesAsync(connection, stop);
            Show();
            return true;
        }

        Show();

        using var timer = new PeriodicTimer(_refreshEvery, _time);
        Task<ReadOnlyMemory<byte>?> receiving = connection.ReceiveAsync(stop);
        Task<bool> refreshing = timer.WaitForNextTickAsync(stop).AsTask();
        Task choosing = Panel.NextChoice();
        await FollowChoiceAsync(connection, stop);
        while (true)
        {
            await Task.WhenAny(receiving, refreshing, choosing);
            if (receiving.IsCompleted)
            {
                if (await receiving is not { } message)
                {
                    return false;
                }

                switch (Panel.Change(state => state.Apply(message)))
                {
                    case "paused":
                        _note = "paused: the server is short of memory or processors, and this connection is slow";
                        Panel.Note(_note);
                        break;
                    case "resumed":
                        _note = null;
                        Panel.Note(null);
                        break;
                }

                FollowClock();
                receiving = connection.ReceiveAsync(stop);
            }

            if (choosing.IsCompleted)
            {
                choosing = Panel.NextChoice();
                await FollowChoiceAsync(connection, stop);
            }

            if (refreshing.IsCompleted)
            {
                await refreshing;
                Show();
                await FollowChoiceAsync(connection, stop);
                refreshing = timer.WaitForNextTickAsync(stop).AsTask();
            }
        }
    }

    /// <summary>The node that was asked asks the others only while a viewer looks.</summary>
    private async Task WaitForNodesAsync(HubConnection connection, CancellationToken stop)
    {
        if (!Panel.Change(static state => state.IsCluster))
        {
            return;
        }

        Task least = Task.Delay(_leastOfNodes, _time, stop);
        Task most = Task.Delay(_mostOfNodes, _time, stop);
        Task<ReadOnlyMemory<byte>?> receiving = connection.ReceiveAsync(stop);
        while (!most.IsCompleted && !(least.IsCompleted && Panel.Change(static state => state.Nodes.Count > 0
            && state.Nodes.Values.All(static node => node.State != "connecting"))))
        {
            await Task.WhenAny(receiving, least.IsCompleted ? most : least);
            if (receiving.IsCompleted)
            {
                if (await receiving is not { } message)
                {
                    return;
                }

                Panel.Change(state => state.Apply(message));
                receiving = connection.ReceiveAsync(stop);
            }
        }
    }

    /// <summary>Subscribes to the requests of the session that is looked at. What comes too soon waits for the next refresh.</summary>
    private async Task FollowChoiceAsync(HubConnection connection, CancellationToken stop)
    {
        string? wanted = Panel.WantedSession is { } name && RequestsOf(name) is not null ? name : null;
        if (wanted == _followed || (_followedAt is { } last && _time.GetElapsedTime(last) < _choiceEvery))
        {
            return;
        }

        string? before = _followed;
        _followed = wanted;
        _followedAt = _time.GetTimestamp();
        Panel.Change(state =>
        {
            state.Watch(wanted);
            return true;
        });
        if (before is not null)
        {
            await connection.SendAsync($$"""{"op":"unsubscribe","channel":"{{RequestsOf(before)}}"}""", stop);
        }

        if (wanted is not null)
        {
            await connection.SendAsync($$"""{"op":"subscribe","channel":"{{RequestsOf(wanted)}}"}""", stop);
        }
    }

    /// <summary>
    /// The channel of a session's requests. A name comes from the server, and goes into a message: null where it is not what names are
    /// made of.
    /// </summary>
    private static string? RequestsOf(string session) => session.Split('@') switch
    {
        [var name] when IsChannelPart(name) => $"session.{name}.requests",
        [var name, var node] when IsChannelPart(name) && IsChannelPart(node) => $"at.{node}.session.{name}.requests",
        _ => null,
    };

    private static bool IsChannelPart(string name) =>
        name.Length > 0 && name.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '~');

    /// <summary>
    /// The server's clock may be set while this looks at it: a second that it reports has ended just now.
    /// </summary>
    private void FollowClock()
    {
        if (Panel.Change(static state => state.SecondEndedUs) is { } ended && ended != _lastSecondUs)
        {
            _lastSecondUs = ended;
            var ahead = TimeSpan.FromMicroseconds(ended - ServerNow());
            _clockOffset += ahead.Duration() < _clockSlack ? TimeSpan.Zero : ahead;
        }
    }

    private long ServerNow() => (_time.GetUtcNow() + _clockOffset - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;

    private void Show()
    {
        if (_terminal is not null)
        {
            Panel.Note(_note);
            return;
        }

        if (_options.Json)
        {
            _screen.Add(Panel.Change(state => TopJson.Write(state, _options.Server, ServerNow())));
            return;
        }

        int rows = _options.Once ? 0 : _screen.Rows;
        _screen.Show(Panel.Change(state => _view.Render(state, ServerNow(), _note, rows)), _options.Once);
    }
}
