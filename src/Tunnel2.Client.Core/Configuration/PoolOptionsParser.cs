using System.Globalization;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Judges what was given about pools as a whole; each text was judged before.</summary>
internal static class PoolOptionsParser
{
    private const string CheckFlag = "--health-check";

    private static readonly string[] _numbers = ["--health-interval", "--health-timeout", "--health-failures", "--health-successes"];

    /// <summary>Names the tunnel by its port, if the port is all that the agents share: they have to agree on a name too.</summary>
    public static AgentOptions NameByPort(AgentOptions options)
    {
        if (options is not { Pool: true, RemotePort: not 0, Kind: SessionKind.Tcp or SessionKind.Udp, Wanted.Count: 0 })
        {
            return options;
        }

        var kind = options.Kind == SessionKind.Udp ? "udp" : "tcp";
        return options with
        {
            Wanted = [new WantedName(string.Create(CultureInfo.InvariantCulture, $"{kind}-{options.RemotePort}"))],
        };
    }

    public static void Check(AgentOptions options, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (options is { Pool: true, RemotePort: 0, Kind: SessionKind.Tcp or SessionKind.Udp })
        {
            mistakes.Add(new OptionMistake("--pool", "needs --remote-port: it is what the agents share"));
        }
        else if (options is { Pool: true, Kind: SessionKind.Http or SessionKind.Tls } && !HasName(input))
        {
            mistakes.Add(new OptionMistake("--pool", "needs --name: it is what the agents share"));
        }

        if (options.Health.Target is not null && options.Kind == SessionKind.Udp)
        {
            mistakes.Add(new OptionMistake(CheckFlag, "is not for 'udp': a service that takes datagrams cannot be asked"));
        }
        else if (options.Health.IsRequest && options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake(CheckFlag, "asks by HTTP, which belongs to 'http'; write tcp"));
        }

        if (!options.Pool && input[CheckFlag] is not null)
        {
            mistakes.Add(new OptionMistake(CheckFlag, "is for agents that share a name; add --pool"));
        }

        if (options is { Upstream.IsHttp2: true, Health.IsRequest: true })
        {
            mistakes.Add(new OptionMistake(CheckFlag, "asks in HTTP/1.1, which a service of h2c:// does not speak; write tcp"));
        }

        foreach (var flag in _numbers)
        {
            if (input[flag] is not null && input[CheckFlag] is null)
            {
                mistakes.Add(new OptionMistake(flag, "says nothing without --health-check"));
            }
        }
    }

    private static bool HasName(AgentOptionsInput input) => input["--name"] is not null || input["--url"] is not null;
}
