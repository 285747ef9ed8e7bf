namespace Tunnel2.Client.States;

/// <summary>What one tunnel of a running agent does. Immutable.</summary>
/// <param name="Name">The name that it asks for.</param>
/// <param name="Kind">http, tcp, tls or udp.</param>
/// <param name="Upstream">The service.</param>
/// <param name="Server">The server.</param>
/// <param name="State">One of the words below.</param>
/// <param name="Since">Since when.</param>
internal sealed record TunnelReport(string Name, string Kind, string Upstream, string Server, string State, DateTimeOffset Since)
{
    /// <summary>The first attempt to reach the server is under way.</summary>
    public const string Connecting = "connecting";

    /// <summary>A request works now.</summary>
    public const string Ready = "ready";

    /// <summary>There is no session, and the agent tries again.</summary>
    public const string Waiting = "waiting";

    /// <summary>The requests under way are finished.</summary>
    public const string Draining = "draining";

    /// <summary>It was asked to stop, and has.</summary>
    public const string Stopped = "stopped";

    /// <summary>The server refused it for good.</summary>
    public const string Failed = "failed";

    /// <summary>The public URLs of the session.</summary>
    public IReadOnlyList<string> Urls { get; init; } = [];

    /// <summary>Where it has several servers: with which there is a session, and why not with the others.</summary>
    public IReadOnlyList<(string Server, bool IsConnected, string? Message)> Servers { get; init; } = [];

    /// <summary>Why there is no session, or null.</summary>
    public string? Message { get; init; }

    /// <summary>The services of its routes, with their paths.</summary>
    public IReadOnlyList<(string Path, string Upstream)> Routes { get; init; } = [];

    /// <summary>The services that could not be reached when they were last looked at.</summary>
    public IReadOnlyList<string> Down { get; init; } = [];

    /// <summary>Whether all services could be reached.</summary>
    public bool ServiceAnswers => Down.Count == 0;
}
