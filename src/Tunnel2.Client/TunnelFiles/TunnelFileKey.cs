using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>Where in the file a key may stand.</summary>
[Flags]
internal enum TunnelFilePlace
{
    /// <summary>At the top: for all tunnels.</summary>
    Top = 1,

    /// <summary>Below one tunnel.</summary>
    Tunnel = 2,

    Both = Top | Tunnel,
}

/// <summary>One key of the file. Where there is a flag for the same thing, it has the flag's name without the dashes.</summary>
/// <param name="Name">As it is written.</param>
/// <param name="Flag">What mistakes call it in the options' parser.</param>
/// <param name="Place">Where it may stand.</param>
/// <param name="Get">The value that is there already; it stays.</param>
/// <param name="Set">Puts a value in.</param>
internal sealed record TunnelFileKey(
    string Name, string Flag, TunnelFilePlace Place, Func<AgentOptionsInput, string?> Get,
    Func<AgentOptionsInput, string, AgentOptionsInput> Set)
{
    /// <summary>The key that the tunnels stand under.</summary>
    public const string Tunnels = "tunnels";

    /// <summary>All keys. A new flag that makes sense in a file is a new row.</summary>
    public static IReadOnlyList<TunnelFileKey> All { get; } =
    [
        new("name", "--name", TunnelFilePlace.Tunnel, static o => o.Name, static (o, v) => o with { Name = v }),
        new("upstream", "<upstream>", TunnelFilePlace.Tunnel, static o => o.Upstream, static (o, v) => o with { Upstream = v }),
        new("server", "--server", TunnelFilePlace.Both, static o => o.Server, static (o, v) => o with { Server = v }),
        new("token", "--token", TunnelFilePlace.Both, static o => o.Token, static (o, v) => o with { Token = v }),
        new(
            "server-fingerprint", "--server-fingerprint", TunnelFilePlace.Both,
            static o => o.Tls?.ServerFingerprint, static (o, v) => o with { Tls = (o.Tls ?? new()) with { ServerFingerprint = v } }),
        new(
            "server-ca",
            "--server-ca",
            TunnelFilePlace.Both,
            static o => o.Tls?.ServerCa,
            static (o, v) => o with { Tls = (o.Tls ?? new()) with { ServerCa = v } }),
        new(
            "client-cert", "--client-cert", TunnelFilePlace.Both,
            static o => o.Tls?.ClientCertificate, static (o, v) => o with { Tls = (o.Tls ?? new()) with { ClientCertificate = v } }),
        new(
            "client-key",
            "--client-key",
            TunnelFilePlace.Both,
            static o => o.Tls?.ClientKey,
            static (o, v) => o with { Tls = (o.Tls ?? new()) with { ClientKey = v } }),
        new("host-header", "--host-header", TunnelFilePlace.Both, static o => o.HostHeader, static (o, v) => o with { HostHeader = v }),
        new("uplinks", "--uplinks", TunnelFilePlace.Both, static o => o.Uplinks, static (o, v) => o with { Uplinks = v }),
        new("streams", "--streams", TunnelFilePlace.Both, static o => o.Streams, static (o, v) => o with { Streams = v }),
        new(
            "backend-connections", "--backend-connections", TunnelFilePlace.Top,
            static o => o.BackendConnections, static (o, v) => o with { BackendConnections = v }),
        new(
            "buffer-megabytes",
            "--buffer-megabytes",
            TunnelFilePlace.Top,
            static o => o.BufferMegabytes,
            static (o, v) => o with { BufferMegabytes = v }),
        new("loops", "--loops", TunnelFilePlace.Top, static o => o.Loops, static (o, v) => o with { Loops = v }),
        Switch("exit-on-failure", static o => o.ExitOnFailure, static o => o with { ExitOnFailure = true }),
        Switch("verbose", static o => o.Verbose, static o => o with { Verbose = true }),
        Switch("json", static o => o.Json, static o => o with { Json = true }),
    ];

    /// <summary>Whether the value is true or false.</summary>
    public bool IsSwitch { get; private init; }

    /// <summary>The names of the keys that may stand in a place.</summary>
    public static IEnumerable<string> NamesAt(TunnelFilePlace place)
    {
        IEnumerable<string> names = All.Where(key => (key.Place & place) != 0).Select(static key => key.Name);
        return place == TunnelFilePlace.Top ? names.Append(Tunnels) : names;
    }

    private static TunnelFileKey Switch(string name, Func<AgentOptionsInput, bool> get, Func<AgentOptionsInput, AgentOptionsInput> set) =>
        new(
            name,
            $"--{name}",
            TunnelFilePlace.Top,
            options => get(options) ? "true" : null,
            (options, value) => value == "true" ? set(options) : options)
        {
            IsSwitch = true,
        };
}
