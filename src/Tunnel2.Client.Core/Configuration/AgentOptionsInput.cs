namespace Tunnel2.Client.Core.Configuration;

/// <summary>The values of flags as the user wrote them, before anything is judged. Null means "not given".</summary>
public sealed record AgentOptionsInput
{
    /// <summary>The positional argument: a port, <c>host:port</c> or URL.</summary>
    public string? Upstream { get; init; }

    /// <summary><c>--server</c>; falls back to <see cref="EnvironmentServer"/>, then to <see cref="ServerEndpoint.Default"/>.</summary>
    public string? Server { get; init; }

    /// <summary>The value of <c>TUNNEL2_SERVER</c>; empty counts as not given.</summary>
    public string? EnvironmentServer { get; init; }

    /// <summary><c>--name</c> or <c>--subdomain</c>.</summary>
    public string? Name { get; init; }

    /// <summary><c>--url</c>: a public URL or host whose first label is the wanted name.</summary>
    public string? PublicUrl { get; init; }

    /// <summary><c>--token</c> or <c>--authtoken</c>; falls back to <see cref="EnvironmentToken"/>.</summary>
    public string? Token { get; init; }

    /// <summary>The value of <c>TUNNEL2_TOKEN</c>; empty counts as not given.</summary>
    public string? EnvironmentToken { get; init; }

    /// <summary>The value of <c>TUNNEL2_ALLOW_PLAINTEXT</c>: <c>1</c> or <c>true</c> permits it, anything else does not.</summary>
    public string? EnvironmentAllowPlaintext { get; init; }

    /// <summary>The flags about TLS, with their environment variables; null: none was given.</summary>
    public TlsOptionsInput? Tls { get; init; }

    /// <summary><c>--uplinks</c>.</summary>
    public string? Uplinks { get; init; }

    /// <summary><c>--streams</c>.</summary>
    public string? Streams { get; init; }

    /// <summary><c>--backend-connections</c>.</summary>
    public string? BackendConnections { get; init; }

    /// <summary><c>--buffer-megabytes</c>.</summary>
    public string? BufferMegabytes { get; init; }

    /// <summary><c>--loops</c>.</summary>
    public string? Loops { get; init; }

    /// <summary><c>--host-header</c>.</summary>
    public string? HostHeader { get; init; }

    /// <summary><c>--exit-on-failure</c>.</summary>
    public bool ExitOnFailure { get; init; }

    /// <summary><c>--verbose</c>.</summary>
    public bool Verbose { get; init; }

    /// <summary><c>--json</c>.</summary>
    public bool Json { get; init; }

    /// <summary>The older form's flags; null where the form <c>tunnel2 http …</c> is used.</summary>
    public OlderFormInput? OlderForm { get; init; }

    /// <summary>
    /// Where values came from that were not flags, by the flag they stand for: <c>--name</c> → <c>TUNNEL2_NAME</c> or
    /// <c>tunnels.yml:7: name</c>. A mistake is told with it in place of the flag.
    /// </summary>
    public IReadOnlyDictionary<string, string> Origins { get; init; } = new Dictionary<string, string>();

    /// <summary>Names what is there and hides every value, since one of them is a secret.</summary>
    public override string ToString() => nameof(AgentOptionsInput);
}

/// <summary>
/// The flags of the older form <c>tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P</c>.
/// </summary>
/// <param name="SessionId"><c>--dev-session-id</c>, required: the GUID that becomes the name.</param>
/// <param name="BackendHost"><c>--backend-host</c>, 127.0.0.1 when not given.</param>
/// <param name="BackendPort"><c>--backend-port</c>, required.</param>
/// <param name="TunnelHost"><c>--tunnel-host</c>, as <c>--server</c> when not given.</param>
/// <param name="TunnelPort"><c>--tunnel-port</c>, 12001 when not given.</param>
public sealed record OlderFormInput(string? SessionId, string? BackendHost, string? BackendPort, string? TunnelHost, string? TunnelPort);
