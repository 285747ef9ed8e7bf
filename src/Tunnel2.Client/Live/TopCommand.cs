using System.Net.WebSockets;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Live;

/// <summary>
/// Runs <c>tunnel2 top</c>: a table of the sessions that refreshes every second, from the hub on a server's admin listener.
/// </summary>
internal sealed class TopCommand
{
    private static readonly string[] _subscriptions = ["node.stats", "session.*.stats", "session.*.status"];
    private static readonly TimeSpan _refreshEvery = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _longestDelay = TimeSpan.FromSeconds(5);

    private readonly TopOptions _options;
    private readonly TopScreen _screen;
    private readonly TextWriter _error;
    private readonly TimeProvider _time;
    private readonly TopState _state;
    private readonly TopView _view;
    private TimeSpan _clockOffset;
    private string? _note;

    internal TopCommand(TopOptions options, TopScreen screen, TextWriter error, TimeProvider time)
    {
        _options = options;
        _screen = screen;
        _error = error;
        _time = time;
        _state = new TopState(options.WindowKey);
        _view = new TopView(options);
    }

    public static bool IsMeant(string[] args) =>
        args is ["top", ..] && !args.Any(static arg => arg is "--help" or "-h" or "-?" or "--version" or "-v");

    /// <summary>Runs until <paramref name="stop"/>, or until the first table with <c>--once</c>.</summary>
    public static async Task<int> RunAsync(
        string[] args, Func<string, string?> environment, TextWriter output, TextWriter error, CancellationToken stop)
    {
        var mistakes = new List<string>();
        if (new TopCommandLine().Parse(args, environment, mistakes) is not { } options)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(string.Join("; ", mistakes))}");
            await error.WriteLineAsync(HelpText.TopUsage);
            return AgentExitCode.Usage;
        }

        try
        {
            return await new TopCommand(options, TopScreen.OfProcess(output), error, TimeProvider.System).RunAsync(stop);
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
                    return AgentExitCode.Stopped;
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
            if (_options.Once || isFinal)
            {
                await _error.WriteLineAsync($"tunnel2: {_options.Server}: {_note}");
                return isFinal ? AgentExitCode.Rejected : AgentExitCode.ServerUnreachable;
            }

            _note += FormattableString.Invariant($"; trying again in {delay.TotalSeconds:0.0} s");
            Show();
            await Task.Delay(delay, _time, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            delay = delay * 2 < _longestDelay ? delay * 2 : _longestDelay;
        }

        return AgentExitCode.Stopped;
    }

    private async Task ConnectAsync(HubConnection connection, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        await connection.ConnectAsync(_options, _time, either.Token);
        _clockOffset = connection.ClockOffset;
        _state.Clear();
        _note = null;
        foreach (string channel in _subscriptions)
        {
            await connection.SendAsync($$"""{"op":"subscribe","channel":"{{channel}}"}""", either.Token);
        }

        // The hub answers in order, so after its answer all present values have arrived.
        await connection.SendAsync("""{"op":"ping"}""", either.Token);
        while (true)
        {
            if (await connection.ReceiveAsync(either.Token) is not { } message)
            {
                throw new InvalidDataException(connection.DescribeClose());
            }

            if (_state.Apply(message) == "pong")
            {
                return;
            }
        }
    }

    /// <returns>False when the server closed.</returns>
    private async Task<bool> FollowAsync(HubConnection connection, CancellationToken stop)
    {
        Show();
        if (_options.Once)
        {
            return true;
        }

        using var timer = new PeriodicTimer(_refreshEvery, _time);
        Task<ReadOnlyMemory<byte>?> receiving = connection.ReceiveAsync(stop);
        Task<bool> refreshing = timer.WaitForNextTickAsync(stop).AsTask();
        while (true)
        {
            await Task.WhenAny(receiving, refreshing);
            if (receiving.IsCompleted)
            {
                if (await receiving is not { } message)
                {
                    return false;
                }

                _note = _state.Apply(message) switch
                {
                    "paused" => "paused: the server is short of memory or processors, and this connection is slow",
                    "resumed" => null,
                    _ => _note,
                };
                receiving = connection.ReceiveAsync(stop);
            }

            if (refreshing.IsCompleted)
            {
                await refreshing;
                Show();
                refreshing = timer.WaitForNextTickAsync(stop).AsTask();
            }
        }
    }

    private void Show()
    {
        long serverNow = (_time.GetUtcNow() + _clockOffset - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;
        _screen.Show(_view.Render(_state, serverNow, _note, _options.Once ? 0 : _screen.Rows), _options.Once);
    }
}
