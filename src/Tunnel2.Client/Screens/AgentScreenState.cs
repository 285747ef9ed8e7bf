using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Screens;

/// <summary>What the screen of a tunnel knows, from the agent's events. Bounded for any events. Not thread-safe.</summary>
internal sealed class AgentScreenState
{
    /// <summary>How many requests are kept: more than the highest terminal shows.</summary>
    internal const int MostRequests = 200;

    /// <summary>How many public URLs are kept; a server gives a few.</summary>
    private const int MostUrls = 8;

    private const int MostNotices = 2;
    private const int RateSeconds = 10;

    private readonly Queue<RequestLine> _requests = new();
    private readonly Queue<(DateTimeOffset Time, string Text)> _notices = new();
    private readonly Dictionary<string, string> _troubles = [];
    private readonly long[] _perSecond = new long[RateSeconds];
    private long _second;

    /// <summary>What the agent is doing.</summary>
    public AgentStatus Status { get; private set; } = AgentStatus.Connecting;

    /// <summary>Since when.</summary>
    public DateTimeOffset Since { get; private set; }

    /// <summary>When the next attempt comes; only with <see cref="AgentStatus.Waiting"/>.</summary>
    public DateTimeOffset NextTry { get; private set; }

    /// <summary>Why there is no session, in the words of the last failure; null while there is one.</summary>
    public string? Trouble { get; private set; }

    /// <summary>The public URLs of the last session.</summary>
    public IReadOnlyList<string> Urls { get; private set; } = [];

    /// <summary>The service.</summary>
    public string Upstream { get; private set; } = "";

    /// <summary>Services for the paths below some paths.</summary>
    public IReadOnlyList<ServiceRoute> Routes { get; private set; } = [];

    /// <summary>A command that reaches the first URL where its name has no address here, or null.</summary>
    public string? Hint { get; set; }

    /// <summary>Why no visitor gets in, or null.</summary>
    public string? Warning { get; set; }

    /// <summary>Where the inspector's page is, or null.</summary>
    public string? Inspector { get; private set; }

    /// <summary>Looks at the uplinks of the session, or null.</summary>
    public Func<UplinkReading>? Uplinks { get; private set; }

    /// <summary>Where there are several servers: with which there is a session, and why not with the others.</summary>
    public IReadOnlyList<(string Server, bool IsConnected, string? Message)> Servers { get; private set; } = [];

    /// <summary>Why services cannot be reached.</summary>
    public IReadOnlyCollection<string> ServiceTroubles => _troubles.Values;

    /// <summary>Requests that ended.</summary>
    public long Requests { get; private set; }

    /// <summary>Requests for which a visitor got an error.</summary>
    public long Failed { get; private set; }

    /// <summary>Requests that ended and are not in the list because they were too many.</summary>
    public long NotShown { get; private set; }

    /// <summary>The last requests, the newest last.</summary>
    public IReadOnlyCollection<RequestLine> Last => _requests;

    /// <summary>What else happened, the newest last.</summary>
    public IReadOnlyCollection<(DateTimeOffset Time, string Text)> Notices => _notices;

    /// <summary>Requests a second, over the last ten whole seconds.</summary>
    public double RateAt(DateTimeOffset now)
    {
        TurnTo(now);
        long sum = 0;
        for (int i = 0; i < RateSeconds; i++)
        {
            sum += i == _second % RateSeconds ? 0 : _perSecond[i];
        }

        return sum / (double)(RateSeconds - 1);
    }

    /// <summary>Takes an event.</summary>
    /// <returns>False: it has no place of its own on the screen.</returns>
    public bool Apply(AgentEvent agentEvent)
    {
        switch (agentEvent)
        {
            case ConnectingEvent:
                Become(AgentStatus.Connecting, agentEvent.Time);
                break;
            case UplinksEvent uplinks:
                Uplinks = uplinks.Read;
                break;
            case ReadyEvent ready:
                Become(AgentStatus.Online, ready.Time);
                Trouble = null;
                Hint = null;
                Urls = [.. ready.PublicUrls.Take(MostUrls).Select(static url => PlainText.Clean(url.TrimEnd('/')))];
                Upstream = PlainText.Clean(ready.Upstream.ToString());
                Routes = ready.Routes;
                break;
            case ServersEvent { IsComplete: true } several:
                Servers = [.. several.Servers.Select(static one => (
                    PlainText.Clean(one.Server.ToString()), one.IsConnected, one.Message is { } why ? PlainText.Clean(why) : null))];
                break;
            case ConnectionEndedEvent ended:
                // What takes another session's place at once is no trouble: its reason stays in a notice.
                Uplinks = null;
                Servers = [];
                Trouble = ended.End.Reason == ConnectionEndReason.Stopped ? null : PlainText.Clean(ended.End.Message);
                Become(AgentStatus.Waiting, ended.Time);
                NextTry = ended.Time;
                break;
            case ReconnectingEvent reconnecting:
                NextTry = reconnecting.Time + reconnecting.Delay;
                break;
            case DrainingEvent:
                Become(AgentStatus.Draining, agentEvent.Time);
                break;
            case StoppedEvent:
                Become(AgentStatus.Stopped, agentEvent.Time);
                break;
            case BackendUnreachableEvent unreachable:
                _troubles[unreachable.Upstream.ToString()] = PlainText.Clean(unreachable.Message);
                break;
            case ServiceCheckedEvent { IsHealthy: false } check:
                _troubles[check.Upstream.ToString()] = PlainText.Clean(check.Message);
                break;
            case BackendReachableEvent reachable:
                _troubles.Remove(reachable.Upstream.ToString());
                break;
            case ServiceCheckedEvent check:
                _troubles.Remove(check.Upstream.ToString());
                break;
            case InspectorReadyEvent inspector:
                Inspector = inspector.Url;
                break;
            case BackendSurplusEvent surplus:
                Note(surplus.Time, surplus.Message);
                break;
            case BackendConnectionsShortEvent shortage:
                Note(shortage.Time, shortage.Message);
                break;
            case UploadsCutEvent cut:
                Note(cut.Time, cut.Message);
                break;
            case FewFilesEvent few:
                Note(few.Time, HumanEventFormatter.TextOf(few));
                break;
            case LinesDroppedEvent dropped:
                NotShown += dropped.Count;
                Count(dropped.Time, dropped.Count);
                break;
            case RequestCompletedEvent completed:
                Add(completed.Time, completed.Request);
                break;
            default:
                return false;
        }

        return true;
    }

    /// <summary>Something else happened.</summary>
    public void Note(DateTimeOffset time, string text)
    {
        if (_notices.Count == MostNotices)
        {
            _notices.Dequeue();
        }

        _notices.Enqueue((time, PlainText.Clean(text)));
    }

    private void Become(AgentStatus status, DateTimeOffset time)
    {
        // An attempt within an outage does not begin it anew.
        if (Since == default || (status != Status && !(IsOutage(status) && IsOutage(Status))))
        {
            Since = time;
        }

        Status = status;
    }

    private static bool IsOutage(AgentStatus status) => status is AgentStatus.Connecting or AgentStatus.Waiting;

    private void Add(DateTimeOffset time, in RequestSummary request)
    {
        Count(time, 1);
        string? trouble = request.Error is null ? null : request.Leg is null ? request.Error : $"{request.Leg}: {request.Error}";
        if (request.StatusCode >= 500 || (trouble is not null && request.Leg != "visitor"))
        {
            Failed++;
        }

        if (_requests.Count == MostRequests)
        {
            _requests.Dequeue();
        }

        _requests.Enqueue(new RequestLine(
            time,
            PlainText.Clean(request.Method ?? ""),
            RequestPath.Of(request.Target ?? ""),
            request.StatusCode,
            request.Duration,
            trouble is null ? null : PlainText.Clean(trouble)));
    }

    private void Count(DateTimeOffset time, long count)
    {
        Requests += count;
        TurnTo(time);
        _perSecond[_second % RateSeconds] += count;
    }

    private void TurnTo(DateTimeOffset time)
    {
        long second = time.ToUnixTimeSeconds();
        if (second <= _second)
        {
            return;
        }

        for (long passed = Math.Max(_second + 1, second - RateSeconds + 1); passed <= second; passed++)
        {
            _perSecond[passed % RateSeconds] = 0;
        }

        _second = second;
    }
}
