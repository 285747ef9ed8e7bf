using System.Text.Encodings.Web;
using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Console;

/// <summary>One JSON object per line and event, for programs. Field names are a contract: additions only.</summary>
internal sealed class JsonEventFormatter : IAgentEventFormatter
{
    // The default encoder also escapes what is only dangerous inside HTML ('+', '<', quotes in the curl command).
    private static readonly JsonEventContext _context = new(new JsonSerializerOptions(JsonEventContext.Default.Options)
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    });

    private readonly ServerEndpoint _server;
    private readonly CurlHint _hint;
    private readonly AccessRules? _access;

    /// <param name="server">The server's uplink address.</param>
    /// <param name="tls">How the agent trusts the server, where the uplink has TLS.</param>
    /// <param name="access">Who may visit, as the agent asks for it.</param>
    public JsonEventFormatter(ServerEndpoint server, TlsOptions? tls = null, AccessRules? access = null)
    {
        _server = server;
        _access = access;
        _hint = new CurlHint(server, tls, access);
    }

    public async ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken)
    {
        if (agentEvent is UplinksEvent)
        {
            return;
        }

        string json = JsonSerializer.Serialize(LineFor(agentEvent), _context.JsonEventLine);

        // The encoder leaves what has no width or turns the direction of text; between the strings nothing of it can be.
        await output.WriteLineAsync(PlainText.Clean(json, int.MaxValue).AsMemory(), cancellationToken).ConfigureAwait(false);
    }

    private JsonEventLine LineFor(AgentEvent agentEvent) => agentEvent switch
    {
        ConnectingEvent connecting => Line(agentEvent, "connecting") with { Server = connecting.Server.ToString() },
        ReadyEvent ready => Line(agentEvent, "ready") with
        {
            Server = _server.ToString(),
            Urls = ready.PublicUrls,
            Upstream = ready.Upstream.ToString(),
            Routes = ready.Routes.Count == 0
                ? null
                : [.. ready.Routes.Select(static route => new JsonRoute(route.Path, route.Target.ToString()))],
            Try = _hint.For(ready.PublicUrls),
            Message = VisitorWarning.Of(_access, ready.PublicUrls),
        },
        RouteEvent { Route: var route } => Line(agentEvent, "uplink_way") with
        {
            Server = route.Server.ToString(),
            Way = UplinkRoute.NameOf(route.Way),
            Proxy = route.Proxy,
            Message = route.Message,
        },
        ServersEvent servers => Line(agentEvent, "servers") with
        {
            Servers = [.. servers.Servers.Select(static one => new JsonServer(one.Server.ToString(), one.IsConnected, one.Message))],
            Message = servers.Message,
        },
        ConnectionEndedEvent ended => LineFor(ended),
        ReconnectingEvent reconnecting => Line(agentEvent, "reconnecting") with { DelaySeconds = Seconds(reconnecting.Delay) },
        DrainingEvent => Line(agentEvent, "draining"),
        StoppedEvent => Line(agentEvent, "stopped"),
        BackendUnreachableEvent unreachable => Line(agentEvent, "backend_unreachable") with
        {
            Upstream = unreachable.Upstream.ToString(),
            Message = unreachable.Message,
        },
        ServiceCheckedEvent check => Line(agentEvent, check.IsHealthy ? "service_healthy" : "service_unhealthy") with
        {
            Upstream = check.Upstream.ToString(),
            Message = check.Message,
        },
        BackendSurplusEvent surplus =>
            Line(agentEvent, "backend_surplus") with { Upstream = surplus.Upstream.ToString(), Message = surplus.Message },
        BackendConnectionsShortEvent shortage => Line(agentEvent, "backend_connections_short") with
        {
            Message = shortage.Message,
            Limit = shortage.Limit,
            Waiting = shortage.Waiting,
        },
        UploadsCutEvent cut => Line(agentEvent, "uploads_cut") with
        {
            Message = cut.Message,
            Count = cut.Count,
            HeldMegabytes = cut.HeldMegabytes,
            LimitMegabytes = cut.LimitMegabytes,
        },
        BackendReachableEvent reachable => Line(agentEvent, "backend_reachable") with { Upstream = reachable.Upstream.ToString() },
        RequestCompletedEvent { Request: var request } => Line(agentEvent, "request") with
        {
            Method = request.Method,
            Path = RequestPath.Of(request.Target),
            Status = request.StatusCode,
            DurationMs = Math.Round(request.Duration.TotalMilliseconds, 3),
            RequestBytes = request.RequestBytes,
            ResponseBytes = request.ResponseBytes,
            Leg = request.Leg,
            Error = request.Error,
            Service = request.Service,
        },
        FewFilesEvent few => Line(agentEvent, "few_files") with { Count = few.Limit, Message = HumanEventFormatter.TextOf(few) },
        InspectorReadyEvent inspector => Line(agentEvent, "inspector") with { Url = inspector.Url, Message = inspector.Note },
        InspectorFailedEvent failedInspector => Line(agentEvent, "inspector_failed") with { Message = failedInspector.Message },
        TunnelsChangedEvent changed => Line(agentEvent, "tunnels_changed") with
        {
            Message = changed.Message,
            Added = changed.Added,
            Changed = changed.Changed,
            Removed = changed.Removed,
        },
        TunnelFileRefusedEvent refused => Line(agentEvent, "file_refused") with { Message = refused.Message },
        RequestsFailedEvent failed => Line(agentEvent, "requests_failed") with
        {
            Leg = failed.Leg,
            Error = failed.Error,
            Count = failed.Count,
            OverSeconds = failed.Over is { } over ? Seconds(over) : null,
        },
        LinesDroppedEvent dropped => Line(agentEvent, "lines_dropped") with { Count = dropped.Count },
        _ => throw new InvalidOperationException($"No JSON form for {agentEvent.GetType().Name}."),
    };

    private static JsonEventLine LineFor(ConnectionEndedEvent ended)
    {
        ConnectionEnd end = ended.End;
        JsonEventLine line = Line(ended, NameOf(end.Reason)) with
        {
            Message = end.Message,
            RetryAfterSeconds = end.RetryAfter is { } retryAfter ? Seconds(retryAfter) : null,
        };
        return end.Reason switch
        {
            ConnectionEndReason.ServerUnreachable => line with { Code = end.Failure is { } failure ? NameOf(failure.Reason) : null },
            ConnectionEndReason.RejectedPermanently or ConnectionEndReason.RejectedForNow => line with
            {
                Code = end.Rejection?.Code,
                Permanent = end.Reason == ConnectionEndReason.RejectedPermanently,
            },
            _ => line with { UpSeconds = Seconds(end.UpTime) },
        };
    }

    private static JsonEventLine Line(AgentEvent agentEvent, string name) =>
        new() { Event = name, Tunnel = agentEvent.Tunnel, Time = agentEvent.Time };

    private static double Seconds(TimeSpan span) => Math.Round(span.TotalSeconds, 3);

    private static string NameOf(ConnectionEndReason reason) => reason switch
    {
        ConnectionEndReason.ServerUnreachable => "unreachable",
        ConnectionEndReason.RejectedPermanently or ConnectionEndReason.RejectedForNow => "rejected",
        ConnectionEndReason.Superseded => "superseded",
        ConnectionEndReason.GoingAway => "going_away",
        ConnectionEndReason.Stopped => "stopped",
        _ => "lost",
    };

    private static string NameOf(ConnectFailureReason reason) => reason switch
    {
        ConnectFailureReason.Refused => "refused",
        ConnectFailureReason.TimedOut => "timed_out",
        ConnectFailureReason.NameNotResolved => "name_not_resolved",
        ConnectFailureReason.NoRoute => "no_route",
        ConnectFailureReason.ClosedEarly => "closed_early",
        ConnectFailureReason.NotTunnel2 => "not_tunnel2",
        ConnectFailureReason.HttpServer => "http_server",
        ConnectFailureReason.PublicPort => "public_port",
        ConnectFailureReason.HttpProxy => "http_proxy",
        ConnectFailureReason.SpeaksTls => "speaks_tls",
        ConnectFailureReason.TlsFailed => "tls_failed",
        ConnectFailureReason.ProxyUnreachable => "proxy_unreachable",
        ConnectFailureReason.ProxyAuthentication => "proxy_authentication",
        ConnectFailureReason.ProxyRefused => "proxy_refused",
        ConnectFailureReason.ProxyFailed => "proxy_failed",
        ConnectFailureReason.WebSocketRefused => "websocket_refused",
        _ => "other",
    };
}
