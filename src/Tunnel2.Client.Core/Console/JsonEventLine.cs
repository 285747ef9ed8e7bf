using System.Text.Json.Serialization;

namespace Tunnel2.Client.Core.Console;

/// <summary>One line of <c>--json</c>. Members that do not belong to an event are left out.</summary>
internal sealed record JsonEventLine
{
    /// <summary>
    /// connecting, uplink_way, ready, servers, unreachable, rejected, lost, superseded, going_away, reconnecting, draining, stopped,
    /// backend_unreachable, backend_reachable, service_unhealthy, service_healthy, backend_surplus,
    /// backend_connections_short, uploads_cut, few_files, inspector,
    /// inspector_failed, tunnels_changed, file_refused, request, requests_failed or lines_dropped.
    /// </summary>
    public required string Event { get; init; }

    /// <summary>When it happened, UTC.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The name that was asked for; only of an agent that the command line started.</summary>
    public string? Tunnel { get; init; }

    public string? Server { get; init; }

    /// <summary>The servers of an agent that has several.</summary>
    public IReadOnlyList<JsonServer>? Servers { get; init; }

    /// <summary>How the server is reached: direct or wss.</summary>
    public string? Way { get; init; }

    /// <summary>Through which proxy; without user and password.</summary>
    public string? Proxy { get; init; }

    public IReadOnlyList<string>? Urls { get; init; }

    public string? Upstream { get; init; }

    /// <summary>Other services of the tunnel, for the paths below theirs.</summary>
    public IReadOnlyList<JsonRoute>? Routes { get; init; }

    /// <summary>The service that a request went to, where the tunnel has several.</summary>
    public string? Service { get; init; }

    /// <summary>The inspector's address.</summary>
    public string? Url { get; init; }

    /// <summary>A curl command that reaches the first URL even where its name has no address.</summary>
    public string? Try { get; init; }

    /// <summary>Why, as a stable word: a connect failure (<c>refused</c>) or a rejection's code.</summary>
    public string? Code { get; init; }

    public string? Message { get; init; }

    /// <summary>Whether the agent ends because of it.</summary>
    public bool? Permanent { get; init; }

    public double? UpSeconds { get; init; }

    public double? RetryAfterSeconds { get; init; }

    public double? DelaySeconds { get; init; }

    public string? Method { get; init; }

    public string? Path { get; init; }

    public int? Status { get; init; }

    public double? DurationMs { get; init; }

    public long? RequestBytes { get; init; }

    public long? ResponseBytes { get; init; }

    /// <summary>Where a request went wrong: visitor, uplink, agent or backend.</summary>
    public string? Leg { get; init; }

    public string? Error { get; init; }

    public long? Count { get; init; }

    /// <summary>How many connections there may be.</summary>
    public int? Limit { get; init; }

    /// <summary>How many requests wait for one.</summary>
    public int? Waiting { get; init; }

    /// <summary>What is held of uploads that services do not take.</summary>
    public long? HeldMegabytes { get; init; }

    /// <summary>What may be held of them.</summary>
    public long? LimitMegabytes { get; init; }

    /// <summary>Tunnels that the file has now and had not before.</summary>
    public IReadOnlyList<string>? Added { get; init; }

    /// <summary>Tunnels that the file has otherwise than before.</summary>
    public IReadOnlyList<string>? Changed { get; init; }

    /// <summary>Tunnels that the file has no more.</summary>
    public IReadOnlyList<string>? Removed { get; init; }

    /// <summary>In how long as many came; none for the first one.</summary>
    public double? OverSeconds { get; init; }
}

/// <summary>Generated at build time, because reflection-based serialisation does not survive ahead-of-time compilation.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.SnakeCaseLower,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    GenerationMode = JsonSourceGenerationMode.Metadata)]
[JsonSerializable(typeof(JsonEventLine))]
internal sealed partial class JsonEventContext : JsonSerializerContext;
