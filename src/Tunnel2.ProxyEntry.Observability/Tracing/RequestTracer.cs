using System.Diagnostics;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// Decides which requests are measured, for a trace or for the visitor, and makes the spans: one of the whole request, and one of the
/// agent's leg, which is the parent of the backend's spans. A request that is not traced keeps its own <c>traceparent</c>. Thread-safe.
/// </summary>
internal sealed class RequestTracer : RequestObserver, IDisposable
{
    /// <summary>The name of the source of spans.</summary>
    public const string SourceName = "Tunnel2.ProxyEntry";

    private const string OtherMethod = "HTTP";

    private readonly ActivitySource? _source;
    private readonly double _ratio;
    private readonly ServerTimingMode _serverTiming;
    private readonly TrustedProxySet _trusted;
    private readonly TraceBudget _budget;
    private readonly ProxyEntryMetrics _metrics;

    public RequestTracer(ProxyEntrySettings settings, ProxyEntryMetrics metrics, TimeProvider time)
    {
        _metrics = metrics;
        _budget = new TraceBudget(settings.Telemetry.MaxTracesPerSecond, time);
        _ratio = settings.Telemetry.SampleRatio;
        _serverTiming = settings.Telemetry.ServerTiming;
        _trusted = settings.TrustedProxies;
        _source = _ratio > 0 ? new ActivitySource(SourceName) : null;
    }

    /// <inheritdoc/>
    /// <remarks>None when no request is traced or timed.</remarks>
    public override RequestMoments Moments => _source is null && _serverTiming == ServerTimingMode.Off
        ? RequestMoments.None
        : RequestMoments.Began | RequestMoments.StreamOpened | RequestMoments.Answered | RequestMoments.Failed | RequestMoments.Ended
            | RequestMoments.Carried;

    /// <inheritdoc/>
    public override void OnBegan(VisitorExchange exchange, ForwardedRequest request)
    {
        var informsVisitor = _serverTiming == ServerTimingMode.Always
            || (_serverTiming == ServerTimingMode.OnRequest && exchange.CopyField(ExchangeExtras.TimingField, stackalloc byte[64]) >= 0);
        var parent = default(ActivityContext);
        var isTraced = _source is not null && IsSampled(exchange, request.Times.Started, out parent);
        if (!informsVisitor && !isTraced)
        {
            return;
        }

        var extras = request.UseExtras(exchange);
        extras.AsksForTiming = true;
        var timeline = request.UseNote<RequestTimeline>();
        timeline.Begin(request.Times, informsVisitor);
        if (isTraced)
        {
            timeline.Edge = Start(MethodOf(exchange), ActivityKind.Server, parent);
            extras.DropsTraceState = timeline.Edge is not null && parent == default;
        }
    }

    /// <inheritdoc/>
    public override void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
        if (request.NoteOf<RequestTimeline>() is not { Edge: { } edge } timeline || exchange.Extras is not { } extras)
        {
            return;
        }

        if (timeline.Agent is { } left)
        {
            // Nothing was done with the request on the earlier stream.
            left.SetStatus(ActivityStatusCode.Error);
            Stop(left);
        }

        var agent = timeline.Agent = Start("tunnel", ActivityKind.Client, edge.Context);
        if (agent is not null)
        {
            agent.SetTag("tunnel2.name", request.Session!.Name);
            TraceParent.Write(agent, extras.SetTraceParent());
        }
    }

    /// <inheritdoc/>
    public override void OnAnswered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at) =>
        request.NoteOf<RequestTimeline>()?.OnResponseHead(facts.Timing, exchange, at);

    /// <inheritdoc/>
    public override void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered)
    {
        if (isAnswered)
        {
            request.NoteOf<RequestTimeline>()?.InformVisitor(exchange);
        }
    }

    /// <inheritdoc/>
    /// <remarks>The span of the visitor's request is this node's; those of its session are the other node's.</remarks>
    public override void OnCarried(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome) =>
        OnEnded(exchange, request, outcome);

    /// <inheritdoc/>
    public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        if (request.NoteOf<RequestTimeline>() is not { Edge: { } edge } timeline)
        {
            return;
        }

        if (timeline.Agent is { } agent)
        {
            EndAgent(agent, request, timeline);
        }

        edge.SetTag("http.request.method", edge.OperationName == OtherMethod ? "_OTHER" : edge.OperationName);
        edge.SetTag("server.address", TargetText.WithoutUserInfo(exchange.Authority));
        edge.SetTag("url.path", TargetText.WithoutQuery(exchange.Target));
        if (request.Status > 0)
        {
            edge.SetTag("http.response.status_code", request.Status);
        }

        if (request.Error is { } error)
        {
            edge.SetTag("error.type", ProxyErrorCatalog.Get(error).Code);
        }
        else if (outcome == RequestOutcome.VisitorAborted)
        {
            edge.SetTag("error.type", "visitor_aborted");
        }

        if (request.Status >= 500 || outcome == RequestOutcome.Aborted)
        {
            edge.SetStatus(ActivityStatusCode.Error);
        }

        Stop(edge);
        timeline.Edge = null;
        timeline.Agent = null;
    }

    /// <inheritdoc/>
    public void Dispose() => _source?.Dispose();

    /// <summary>
    /// Whether a request is traced, within the budget. A trusted proxy's decision counts; a stranger's flag does not, because strangers
    /// could then have everything traced.
    /// </summary>
    private bool IsSampled(VisitorExchange exchange, long now, out ActivityContext parent)
    {
        if (!_trusted.IsEmpty && _trusted.Contains(exchange.RemoteAddress))
        {
            var isWanted = TryReadParent(exchange, out parent) ? (parent.TraceFlags & ActivityTraceFlags.Recorded) != 0 : Draw();
            return isWanted && MayTrace(now);
        }

        parent = default;
        if (!Draw() || !MayTrace(now))
        {
            return false;
        }

        TryReadParent(exchange, out parent);
        return true;
    }

    private static bool TryReadParent(VisitorExchange exchange, out ActivityContext parent)
    {
        Span<byte> value = stackalloc byte[256];
        var length = exchange.CopyField("traceparent"u8, value);
        parent = default;
        return length >= 0 && TraceParent.TryParse(value[..length], out parent);
    }

    private bool MayTrace(long now)
    {
        var may = _budget.TryTake(now);
        if (!may)
        {
            _metrics.TraceLimited();
        }

        return may;
    }

    // A new random number, not the trace's id: a visitor that chooses the id would choose the sampling.
    private bool Draw() => _ratio >= 1 || Random.Shared.NextDouble() < _ratio;

    private static void EndAgent(Activity agent, ForwardedRequest request, RequestTimeline timeline)
    {
        if (timeline.Tunnel is { } tunnel)
        {
            agent.SetTag("tunnel2.tunnel", tunnel.TotalSeconds);
            if (timeline.Timing is { } timing)
            {
                // The times of both ways through the tunnel are not known separately, so each counts as half.
                agent.SetStartTime(agent.StartTimeUtc + (tunnel / 2));
                agent.SetTag("tunnel2.agent.connect", timing.Connect.TotalSeconds);
                agent.SetTag("tunnel2.backend.time_to_first_byte", timing.Backend.TotalSeconds);
            }
        }

        if (request.Status >= 400)
        {
            agent.SetStatus(ActivityStatusCode.Error);
        }

        Stop(agent);
    }

    /// <summary>Starts a span without making it the current one, because requests of many visitors share these threads.</summary>
    private Activity? Start(string name, ActivityKind kind, ActivityContext parent)
    {
        Activity.Current = null;
        var span = _source!.StartActivity(name, kind, parent);
        Activity.Current = null;
        return span;
    }

    private static void Stop(Activity span)
    {
        span.Stop();
        Activity.Current = null;
    }

    /// <summary>OpenTelemetry's rule: an unknown method, which any visitor can invent, must not become a span's name.</summary>
    private static string MethodOf(VisitorExchange exchange) => exchange.Method switch
    {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        "TRACE" => "TRACE",
        "CONNECT" => "CONNECT",
        _ => OtherMethod,
    };
}
