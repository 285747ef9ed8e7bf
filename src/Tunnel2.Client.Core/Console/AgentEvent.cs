using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Console;

/// <summary>One thing to be written; <paramref name="Time"/> is when it happened, not when it is written.</summary>
internal abstract record AgentEvent(DateTimeOffset Time)
{
    /// <summary>The tunnel it is about, by the name that was asked for; null where there is only one.</summary>
    public string? Tunnel { get; init; }
}

internal sealed record ConnectingEvent(DateTimeOffset Time, ServerEndpoint Server) : AgentEvent(Time);

internal sealed record ReadyEvent(DateTimeOffset Time, IReadOnlyList<string> PublicUrls, BackendTarget Upstream) : AgentEvent(Time);

internal sealed record ConnectionEndedEvent(DateTimeOffset Time, ConnectionEnd End) : AgentEvent(Time);

internal sealed record ReconnectingEvent(DateTimeOffset Time, TimeSpan Delay) : AgentEvent(Time);

internal sealed record DrainingEvent(DateTimeOffset Time) : AgentEvent(Time);

internal sealed record StoppedEvent(DateTimeOffset Time) : AgentEvent(Time);

internal sealed record RequestCompletedEvent(DateTimeOffset Time, RequestSummary Request) : AgentEvent(Time);

/// <summary>Requests failed in the same way: the first of them (without <paramref name="Over"/>), or how many came after it.</summary>
internal sealed record RequestsFailedEvent(DateTimeOffset Time, string Leg, string Error, long Count, TimeSpan? Over) : AgentEvent(Time);

internal sealed record LinesDroppedEvent(DateTimeOffset Time, long Count) : AgentEvent(Time);

internal sealed record FewFilesEvent(DateTimeOffset Time, int Limit) : AgentEvent(Time);

internal sealed record BackendUnreachableEvent(DateTimeOffset Time, BackendTarget Upstream, string Message) : AgentEvent(Time);

internal sealed record BackendSurplusEvent(DateTimeOffset Time, BackendTarget Upstream, string Message) : AgentEvent(Time);

internal sealed record BackendConnectionsShortEvent(DateTimeOffset Time, int Limit, int Waiting, string Message) : AgentEvent(Time);

internal sealed record UploadsCutEvent(DateTimeOffset Time, int Count, long HeldMegabytes, long LimitMegabytes, string Message)
    : AgentEvent(Time);

internal sealed record BackendReachableEvent(DateTimeOffset Time, BackendTarget Upstream) : AgentEvent(Time);
