using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Console;

/// <summary>
/// Lines for people: one per change of state. An outage is shown once, with its reason; further attempts that fail for the same reason are
/// shown only with <c>--verbose</c>.
/// </summary>
internal sealed class HumanEventFormatter : IAgentEventFormatter
{
    private readonly CurlHint _hint;
    private readonly bool _verbose;
    private readonly Func<string, CancellationToken, Task<bool>> _resolves;
    private readonly string _prefix;
    private readonly AccessRules? _access;
    private string? _lastTrouble;
    private string? _lastRoute;
    private IReadOnlyList<ServerStatus>? _lastServers;
    private bool _saidConnecting;
    private bool _saidReconnecting;

    /// <summary>Makes a formatter.</summary>
    /// <param name="server">Where curl should connect when a public name has no address.</param>
    /// <param name="verbose">Whether every attempt is shown.</param>
    /// <param name="resolves">Whether a host name has an address; <see cref="NameResolution.ResolvesAsync"/> unless a test says
    /// otherwise.</param>
    /// <param name="prefix">Goes before every line except those of <see cref="ReadyEvent"/>: it names the tunnel.</param>
    /// <param name="tls">How the agent trusts the server, where the uplink has TLS.</param>
    /// <param name="access">Who may visit, as the agent asks for it.</param>
    public HumanEventFormatter(
        ServerEndpoint server,
        bool verbose,
        Func<string, CancellationToken, Task<bool>>? resolves = null,
        string prefix = "",
        TlsOptions? tls = null,
        AccessRules? access = null)
    {
        _prefix = prefix;
        _hint = new CurlHint(server, tls, access);
        _access = access;
        _verbose = verbose;
        _resolves = resolves ?? NameResolution.ResolvesAsync;
    }

    public async ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken)
    {
        if (agentEvent is ReadyEvent ready)
        {
            await WriteReadyAsync(ready, output, cancellationToken).ConfigureAwait(false);
        }
        else if (LineFor(agentEvent) is { } line)
        {
            await output.WriteLineAsync(
                PlainText.Clean(_prefix + line, 2 * PlainText.MaxLength).AsMemory(), cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>The sentence about a low limit of open files, for people and programs.</summary>
    public static string TextOf(FewFilesEvent few) => string.Create(
        CultureInfo.InvariantCulture,
        $"This process may have only {few.Limit} files open, and each request under way needs some: raise the limit for more (ulimit -n, "
            + $"LimitNOFILE)");

    private async Task WriteReadyAsync(ReadyEvent ready, TextWriter output, CancellationToken cancellationToken)
    {
        _lastTrouble = null;
        _saidReconnecting = false;
        foreach (string url in ready.PublicUrls)
        {
            string line = PlainText.Clean($"Forwarding {url.TrimEnd('/')} -> {ready.Upstream}");
            await output.WriteLineAsync(line.AsMemory(), cancellationToken).ConfigureAwait(false);
            foreach (ServiceRoute route in ready.Routes)
            {
                string more = PlainText.Clean($"Forwarding {url.TrimEnd('/')}{route}");
                await output.WriteLineAsync(more.AsMemory(), cancellationToken).ConfigureAwait(false);
            }
        }

        if (VisitorWarning.Of(_access, ready.PublicUrls) is { } warning)
        {
            await output.WriteLineAsync(PlainText.Clean(_prefix + warning).AsMemory(), cancellationToken).ConfigureAwait(false);
        }

        // Flushed at once: the lookup below may take a moment, and scripts wait for the line above.
        await output.FlushAsync(cancellationToken).ConfigureAwait(false);
        if (ready.PublicUrls.Count > 0
            && Uri.TryCreate(ready.PublicUrls[0], UriKind.Absolute, out Uri? main)
            && _hint.For(ready.PublicUrls) is { } hint
            && !await _resolves(main.Host, cancellationToken).ConfigureAwait(false))
        {
            await output.WriteLineAsync(PlainText.Clean($"Try: {hint}").AsMemory(), cancellationToken).ConfigureAwait(false);
        }
    }

    private string? LineFor(AgentEvent agentEvent)
    {
        switch (agentEvent)
        {
            case ConnectingEvent connecting:
                bool isFirst = !_saidConnecting;
                _saidConnecting = true;
                return isFirst || _verbose ? $"Connecting to {connecting.Server}" : null;
            case RouteEvent { Route: var route }:
                bool isUsual = route is { Way: UplinkWay.Direct, Proxy: null };
                bool isSame = route.Message == _lastRoute || (_lastRoute is null && isUsual);
                _lastRoute = route.Message;
                return isSame ? null : route.Message;
            case ServersEvent { IsComplete: false }:
                return null;
            case ServersEvent servers:
                bool isNewServers = IsNews(servers.Servers, _lastServers);
                _lastServers = servers.Servers;
                return isNewServers ? servers.Message : null;
            case ConnectionEndedEvent ended:
                return LineFor(ended.End);
            case ReconnectingEvent reconnecting when _verbose:
                return string.Create(CultureInfo.InvariantCulture, $"Trying again in {reconnecting.Delay.TotalSeconds:0.0} s");
            case ReconnectingEvent:
                bool isFirstWait = !_saidReconnecting;
                _saidReconnecting = true;
                return isFirstWait ? "Trying again until the server takes the session" : null;
            case DrainingEvent:
                return "Draining: finishing the requests under way";
            case StoppedEvent:
                return "Stopped";
            case BackendUnreachableEvent unreachable:
                return unreachable.Message;
            case ServiceCheckedEvent check:
                return check.Message;
            case BackendSurplusEvent surplus:
                return surplus.Message;
            case BackendConnectionsShortEvent shortage:
                return shortage.Message;
            case UploadsCutEvent cut:
                return cut.Message;
            case BackendReachableEvent reachable:
                return $"The service at {reachable.Upstream} can be reached now";
            case RequestCompletedEvent completed:
                return LineFor(completed);
            case FewFilesEvent few:
                return TextOf(few);
            case InspectorReadyEvent inspector:
                return $"Inspect requests at {inspector.Url}" + (inspector.Note is { } note ? $" ({note})" : "");
            case InspectorFailedEvent failedInspector:
                return $"The inspector is off: {failedInspector.Message}";
            case TunnelsChangedEvent changed:
                return changed.Message;
            case TunnelFileRefusedEvent refused:
                return $"The tunnels stay as they are, because the file has mistakes: {refused.Message}";
            case RequestsFailedEvent { Over: null } first:
                return $"A request failed: {first.Leg}: {first.Error}. More of these are counted (--verbose shows each)";
            case RequestsFailedEvent failed:
                return string.Create(
                    CultureInfo.InvariantCulture,
                    $"Requests failed: {failed.Leg}: {failed.Error}, {failed.Count:N0} times in {failed.Over!.Value.TotalSeconds:0} s");
            case LinesDroppedEvent dropped:
                return string.Create(CultureInfo.InvariantCulture, $"({dropped.Count} lines dropped: the output was too slow)");
            default:
                return null;
        }
    }

    /// <summary>
    /// Whether there is a session that was not there before, or one less, or no session with a server of which nothing was said yet. A
    /// node that stops is one line: that it is gone for good a moment later is none.
    /// </summary>
    private static bool IsNews(IReadOnlyList<ServerStatus> now, IReadOnlyList<ServerStatus>? before)
    {
        return before is null
            || !Connected(now).SetEquals(Connected(before))
            || now.Any(one => !before.Any(other => other.Server == one.Server));

        static HashSet<ServerEndpoint> Connected(IReadOnlyList<ServerStatus> servers) =>
            [.. servers.Where(static one => one.IsConnected).Select(static one => one.Server)];
    }

    private string? LineFor(ConnectionEnd end)
    {
        if (end.Reason is ConnectionEndReason.Lost or ConnectionEndReason.GoingAway or ConnectionEndReason.Superseded)
        {
            _lastTrouble = null;
            return end.Reason switch
            {
                ConnectionEndReason.Lost => $"Disconnected after {FormatSpan(end.UpTime)}: {end.Message}",
                ConnectionEndReason.GoingAway when end.UpTime > TimeSpan.Zero =>
                    $"Disconnected after {FormatSpan(end.UpTime)}: {end.Message}",
                _ => end.Message,
            };
        }

        // An attempt failed. The same words again and again would be noise, not a change of state.
        bool isNews = end.Message != _lastTrouble;
        _lastTrouble = end.Message;
        return isNews || _verbose ? end.Message : null;
    }

    private static string LineFor(RequestCompletedEvent completed)
    {
        RequestSummary request = completed.Request;
        string status = request.StatusCode == 0 ? "-" : request.StatusCode.ToString(CultureInfo.InvariantCulture);
        string path = RequestPath.Of(request.Target);
        string line = string.Create(
            CultureInfo.InvariantCulture,
            $"{completed.Time:HH:mm:ss.fff} {request.Method} {path} {status} {request.Duration.TotalMilliseconds:0.0} ms, "
            + $"{request.RequestBytes} B in, {request.ResponseBytes} B out{(request.Service is null ? "" : ", " + request.Service)}");
        return request.Error is null ? line : request.Leg is null ? $"{line}: {request.Error}" : $"{line}: {request.Leg}: {request.Error}";
    }

    private static string FormatSpan(TimeSpan span) => span switch
    {
        { TotalMinutes: < 1 } => string.Create(CultureInfo.InvariantCulture, $"{span.TotalSeconds:0.0} s"),
        { TotalHours: < 1 } => string.Create(CultureInfo.InvariantCulture, $"{span.Minutes} min {span.Seconds} s"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{(long)span.TotalHours} h {span.Minutes} min"),
    };
}
