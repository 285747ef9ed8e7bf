using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Variables;

/// <summary>What a set of options is for: not every variable means something everywhere.</summary>
internal enum EnvironmentScope
{
    /// <summary><c>tunnel2 http</c>.</summary>
    OneTunnel = 0,

    /// <summary>The older form, which has flags of its own for name and upstream.</summary>
    OlderForm,

    /// <summary>Tunnels of a file, where names and upstreams are the file's.</summary>
    AllTunnels,
}

/// <summary>
/// Fills what neither the command line nor a file has said from the environment. <c>TUNNEL2_SERVER</c> and <c>TUNNEL2_TOKEN</c> are read by
/// the options' parser itself. An empty variable counts as not set.
/// </summary>
internal static class EnvironmentFallback
{
    private static readonly Variable[] _variables =
    [
        new("TUNNEL2_UPSTREAM", "<upstream>", OneTunnelOnly: true, static o => o.Upstream, static (o, v) => o with { Upstream = v }),
        new("TUNNEL2_NAME", "--name", OneTunnelOnly: true, static o => o.Name ?? o.PublicUrl, static (o, v) => o with { Name = v }),
        new(
            "TUNNEL2_HOST_HEADER",
            "--host-header",
            OneTunnelOnly: false,
            static o => o.HostHeader,
            static (o, v) => o with { HostHeader = v }),
        new("TUNNEL2_UPLINKS", "--uplinks", OneTunnelOnly: false, static o => o.Uplinks, static (o, v) => o with { Uplinks = v }),
        new("TUNNEL2_STREAMS", "--streams", OneTunnelOnly: false, static o => o.Streams, static (o, v) => o with { Streams = v }),
        new(
            "TUNNEL2_BACKEND_CONNECTIONS", "--backend-connections", OneTunnelOnly: false,
            static o => o.BackendConnections, static (o, v) => o with { BackendConnections = v }),
        new(
            "TUNNEL2_BUFFER_MEGABYTES",
            "--buffer-megabytes",
            OneTunnelOnly: false,
            static o => o.BufferMegabytes,
            static (o, v) => o with { BufferMegabytes = v }),
        new("TUNNEL2_LOOPS", "--loops", OneTunnelOnly: false, static o => o.Loops, static (o, v) => o with { Loops = v }),

        // A user who trusts the server in one way must not get the other one.
        new(
            "TUNNEL2_SERVER_FINGERPRINT",
            "--server-fingerprint",
            OneTunnelOnly: false,
            Trust,
            static (o, v) => o with { Tls = (o.Tls ?? new()) with { ServerFingerprint = v } }),
        new(
            "TUNNEL2_SERVER_CA",
            "--server-ca",
            OneTunnelOnly: false,
            Trust,
            static (o, v) => o with { Tls = (o.Tls ?? new()) with { ServerCa = v } }),
        new(
            "TUNNEL2_CLIENT_CERT", "--client-cert", OneTunnelOnly: false,
            static o => o.Tls?.ClientCertificate, static (o, v) => o with { Tls = (o.Tls ?? new()) with { ClientCertificate = v } }),
        new(
            "TUNNEL2_CLIENT_KEY",
            "--client-key",
            OneTunnelOnly: false,
            static o => o.Tls?.ClientKey,
            static (o, v) => o with { Tls = (o.Tls ?? new()) with { ClientKey = v } }),
    ];

    private static readonly Switch[] _switches =
    [
        new("TUNNEL2_EXIT_ON_FAILURE", static o => o with { ExitOnFailure = true }),
        new("TUNNEL2_VERBOSE", static o => o with { Verbose = true }),
        new("TUNNEL2_JSON", static o => o with { Json = true }),
    ];

    /// <summary>Fills what is missing.</summary>
    /// <param name="input">What was said elsewhere.</param>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="scope">What the options are for.</param>
    /// <param name="mistakes">Variables that are neither true nor false where they must be.</param>
    public static AgentOptionsInput Apply(
        AgentOptionsInput input, Func<string, string?> environment, EnvironmentScope scope, out IReadOnlyList<string> mistakes)
    {
        AgentOptionsInput said = input;
        var wrong = new List<string>();
        var origins = new Dictionary<string, string>(input.Origins);
        foreach (Variable variable in _variables)
        {
            if ((scope == EnvironmentScope.OneTunnel || !variable.OneTunnelOnly)
                && variable.Get(said) is null
                && environment(variable.Name) is { Length: > 0 } value)
            {
                input = variable.Set(input, value);
                origins[variable.Flag] = variable.Name;
            }
        }

        foreach (Switch variable in _switches)
        {
            switch (environment(variable.Name)?.ToLowerInvariant())
            {
                case null or "" or "0" or "false" or "no":
                    break;
                case "1" or "true" or "yes":
                    input = variable.Set(input);
                    break;
                default:
                    wrong.Add($"{variable.Name}: is neither true nor false");
                    break;
            }
        }

        mistakes = wrong;
        return input with { Origins = origins };
    }

    private static string? Trust(AgentOptionsInput options) => options.Tls?.ServerFingerprint ?? options.Tls?.ServerCa;

    private sealed record Variable(
        string Name, string Flag, bool OneTunnelOnly, Func<AgentOptionsInput, string?> Get,
        Func<AgentOptionsInput, string, AgentOptionsInput> Set);

    private sealed record Switch(string Name, Func<AgentOptionsInput, AgentOptionsInput> Set);
}
