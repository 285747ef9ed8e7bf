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

internal sealed record ReadyEvent(DateTimeOffset Time, IReadOnlyList<string> PublicUrls, BackendTarget Upstream) : AgentEvent(Time)
{
    /// <summary>Services for the paths below some paths.</summary>
    public IReadOnlyList<ServiceRoute> Routes { get; init; } = [];
}

/// <summary>How the uplinks of the session that begins can be looked at. For a screen: there is no line for it.</summary>
internal sealed record UplinksEvent(DateTimeOffset Time, Func<UplinkReading> Read) : AgentEvent(Time);

internal sealed record RouteEvent(DateTimeOffset Time, UplinkRoute Route) : AgentEvent(Time);

/// <summary>With which of several servers there is a session.</summary>
internal sealed record ServersEvent(DateTimeOffset Time, IReadOnlyList<ServerStatus> Servers) : AgentEvent(Time)
{
    /// <summary>Whether something is known of each of them: the first attempts are over.</summary>
    public bool IsComplete => Servers.All(static one => one.IsConnected || one.Message is not null);

    /// <summary>In words.</summary>
    public string Message
    {
        get
        {
            string[] words = [.. Servers.Select(static one => $"{(one.IsConnected ? "" : "not ")}{one.Server}{WhyOf(one)}")];
            int connected = Servers.Count(static one => one.IsConnected);
            return FormattableString.Invariant($"Connected to {connected} of {Servers.Count} servers: {string.Join(", ", words)}");
        }
    }

    private static string WhyOf(ServerStatus one) => one.Message is { } why ? $" ({why})" : "";
}

internal sealed record ConnectionEndedEvent(DateTimeOffset Time, ConnectionEnd End) : AgentEvent(Time);

internal sealed record ReconnectingEvent(DateTimeOffset Time, TimeSpan Delay) : AgentEvent(Time);

internal sealed record DrainingEvent(DateTimeOffset Time) : AgentEvent(Time);

internal sealed record StoppedEvent(DateTimeOffset Time) : AgentEvent(Time);

internal sealed record RequestCompletedEvent(DateTimeOffset Time, RequestSummary Request) : AgentEvent(Time);

/// <summary>Requests failed in the same way: the first of them (without <paramref name="Over"/>), or how many came after it.</summary>
internal sealed record RequestsFailedEvent(DateTimeOffset Time, string Leg, string Error, long Count, TimeSpan? Over) : AgentEvent(Time);

internal sealed record LinesDroppedEvent(DateTimeOffset Time, long Count) : AgentEvent(Time);

internal sealed record FewFilesEvent(DateTimeOffset Time, int Limit) : AgentEvent(Time);

/// <summary>The inspector listens; <paramref name="Note"/> says why it is not where it usually is, or is null.</summary>
internal sealed record InspectorReadyEvent(DateTimeOffset Time, string Url, string? Note) : AgentEvent(Time);

/// <summary>There is no inspector, and the tunnel runs without it.</summary>
internal sealed record InspectorFailedEvent(DateTimeOffset Time, string Message) : AgentEvent(Time);

internal sealed record BackendUnreachableEvent(DateTimeOffset Time, BackendTarget Upstream, string Message) : AgentEvent(Time);

internal sealed record ServiceCheckedEvent(DateTimeOffset Time, BackendTarget Upstream, bool IsHealthy, string Message)
    : AgentEvent(Time);

internal sealed record BackendSurplusEvent(DateTimeOffset Time, BackendTarget Upstream, string Message) : AgentEvent(Time);

internal sealed record BackendConnectionsShortEvent(DateTimeOffset Time, int Limit, int Waiting, string Message) : AgentEvent(Time);

internal sealed record UploadsCutEvent(DateTimeOffset Time, int Count, long HeldMegabytes, long LimitMegabytes, string Message)
    : AgentEvent(Time);

internal sealed record BackendReachableEvent(DateTimeOffset Time, BackendTarget Upstream) : AgentEvent(Time);

/// <summary>The file of tunnels has changed, and the tunnels with it. Each list has names of tunnels, or of settings.</summary>
internal sealed record TunnelsChangedEvent(
    DateTimeOffset Time,
    string File,
    IReadOnlyList<string> Added,
    IReadOnlyList<string> Changed,
    IReadOnlyList<string> Removed,
    IReadOnlyList<string> AtNextStart) : AgentEvent(Time)
{
    /// <summary>In words.</summary>
    public string Message
    {
        get
        {
            string[] parts =
            [
                .. Part(Added, "added"), .. Part(Changed, "changed"), .. Part(Removed, "removed"),
                .. AtNextStart.Count == 0 ? Array.Empty<string>() : [$"{string.Join(", ", AtNextStart)} will count at the next start"],
            ];
            return $"{File} has changed: {(parts.Length == 0 ? "no tunnel is touched" : string.Join("; ", parts))}";
        }
    }

    private static IEnumerable<string> Part(IReadOnlyList<string> names, string word) =>
        names.Count == 0 ? [] : [$"{word} {string.Join(", ", names)}"];
}

/// <summary>The file of tunnels has changed and cannot be used; the tunnels stay as they are.</summary>
internal sealed record TunnelFileRefusedEvent(DateTimeOffset Time, string Message) : AgentEvent(Time);
