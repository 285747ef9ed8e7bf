using System.Threading.Channels;
using Microsoft.Extensions.Logging;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol;

namespace Tunnel2.Embed;

/// <summary>
/// Takes what the agent reports of a tunnel. The state is set at once; lines go to the host's loggers from a task of their own, because a
/// logger may block, and an event loop must not. Lines beyond the queue are dropped. Thread-safe.
/// </summary>
internal sealed class TunnelReports : AgentEventSource, IAsyncDisposable
{
    private const int Capacity = 256;

    /// <summary>How long <see cref="DisposeAsync"/> waits for loggers that take nothing.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(1);

    private readonly Channel<Action<ILogger>> _lines =
        Channel.CreateBounded<Action<ILogger>>(new BoundedChannelOptions(Capacity) { SingleReader = true });

    private readonly TaskCompletionSource<string?> _first = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Tunnel2Urls _urls;
    private readonly ILogger _logger;
    private readonly string _name;
    private readonly Task _logging;
    private volatile bool _isSuperseded;
    private volatile bool _hasOpened;
    private string? _lastTrouble;
    private string? _lastRoute;
    private volatile string _rejection = "";

    /// <param name="name">The tunnel's name.</param>
    /// <param name="urls">Its URLs, which this sets.</param>
    /// <param name="logger">Gets the lines.</param>
    /// <param name="time">The clock.</param>
    public TunnelReports(string name, Tunnel2Urls urls, ILogger logger, TimeProvider time)
        : base(time, wantsRequests: false)
    {
        _name = name;
        _urls = urls;
        _logger = logger;
        _logging = Task.Run(LogAsync);
    }

    /// <summary>How the first attempt ended: null when the tunnel opened, else why it did not.</summary>
    public Task<string?> First => _first.Task;

    /// <summary>Whether another agent has taken the name over: the two would take it from each other for ever.</summary>
    public bool IsSuperseded => _isSuperseded;

    /// <summary>Whether the tunnel has opened after the last question.</summary>
    public bool TakeHasOpened()
    {
        bool hasOpened = _hasOpened;
        _hasOpened = false;
        return hasOpened;
    }

    /// <inheritdoc/>
    public override void Post(AgentEvent agentEvent)
    {
        switch (agentEvent)
        {
            case ReadyEvent ready:
                _urls.Open(ready.PublicUrls);
                _hasOpened = true;
                _lastTrouble = null;
                _first.TrySetResult(null);
                string urls = PlainText.Clean(string.Join(", ", ready.PublicUrls));
                Log(logger => EmbedLog.Open(logger, _name, urls));
                break;
            case ConnectionEndedEvent ended:
                _urls.Close();
                OnEnded(ended.End);
                break;
            case RouteEvent { Route: var route }:
                OnRoute(route);
                break;
            case DrainingEvent:
                Log(logger => EmbedLog.Draining(logger, _name));
                break;
            case RequestsFailedEvent failed:
                Log(logger => EmbedLog.RequestsFailed(logger, _name, failed.Count, failed.Leg, failed.Error));
                break;
            case BackendReachableEvent reachable:
                Log(logger => EmbedLog.Changed(logger, _name, $"The service at {reachable.Upstream} can be reached now"));
                break;
            case BackendUnreachableEvent { Message: var message }:
                Trouble(message);
                break;
            case BackendSurplusEvent { Message: var message }:
                Trouble(message);
                break;
            case BackendConnectionsShortEvent { Message: var message }:
                Trouble(message);
                break;
            case UploadsCutEvent { Message: var message }:
                Trouble(message);
                break;
            default:
                break;
        }
    }

    /// <summary>The server has refused the tunnel, or it is tried again after a fault.</summary>
    /// <param name="delay">When it is tried again.</param>
    /// <param name="fault">The fault; null: it was refused.</param>
    public void Rests(TimeSpan delay, Exception? fault)
    {
        if (fault is null)
        {
            string reason = _rejection;
            Log(logger => EmbedLog.Refused(logger, _name, reason, delay));
            return;
        }

        _first.TrySetResult(fault.Message);
        Log(logger => EmbedLog.Failed(logger, _name, delay, fault));
    }

    /// <summary>The tunnel is not opened at all.</summary>
    public void NotOpened(string obstacle) => Log(logger => EmbedLog.NotOpened(logger, _name, obstacle));

    /// <summary>The tunnel is closed for good.</summary>
    public void Closed()
    {
        _urls.End();
        _first.TrySetResult("The host stops.");
        Log(logger => EmbedLog.Closed(logger, _name));
    }

    /// <summary>Logs what waits, for at most a second. Lines that come later are dropped.</summary>
    public async ValueTask DisposeAsync()
    {
        _lines.Writer.TryComplete();
        await ((Task)_logging.WaitAsync(_patience)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private void OnEnded(ConnectionEnd end)
    {
        string reason = PlainText.Clean(ReasonWords.Of(end), 2 * PlainText.MaxLength);
        _first.TrySetResult(reason);
        switch (end.Reason)
        {
            case ConnectionEndReason.Superseded:
                _isSuperseded = true;
                Log(logger => EmbedLog.Superseded(logger, _name, reason));
                break;
            case ConnectionEndReason.RejectedPermanently:
                _rejection = reason;
                break;
            case var _ when reason == _lastTrouble:
                Log(logger => EmbedLog.StillInterrupted(logger, _name, reason));
                break;
            default:
                _lastTrouble = reason;
                Log(logger => EmbedLog.Interrupted(logger, _name, reason));
                break;
        }
    }

    private void OnRoute(UplinkRoute route)
    {
        bool isUsual = _lastRoute is null && route is { Way: UplinkWay.Direct, Proxy: null };
        if (!isUsual && route.Message != _lastRoute)
        {
            string message = PlainText.Clean(route.Message, 2 * PlainText.MaxLength);
            Log(logger => EmbedLog.Changed(logger, _name, message));
        }

        _lastRoute = route.Message;
    }

    private void Trouble(string message) => Log(logger => EmbedLog.Troubled(logger, _name, message));

    private void Log(Action<ILogger> line) => _lines.Writer.TryWrite(line);

    private async Task LogAsync()
    {
        await foreach (var line in _lines.Reader.ReadAllAsync().ConfigureAwait(false))
        {
            try
            {
                line(_logger);
            }
            catch (Exception)
            {
                // A logger of the program has a fault: the other lines are not to suffer from it.
            }
        }
    }
}
