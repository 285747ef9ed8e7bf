using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Quickstart;

/// <summary>The checked command line. Immutable.</summary>
internal sealed record QuickstartArguments
{
    /// <summary>The line after a mistake.</summary>
    public const string Usage = "Usage: tunnel2-quickstart [<port | host:port | url>] [--once] [--help]";

    /// <summary>What <c>--help</c> prints.</summary>
    public const string Help =
        $"""
        tunnel2-quickstart runs a whole tunnel in one process, on loopback: ProxyEntry, an agent and a sample service.

        {Usage}

          3000           your own service on this port in place of the sample; host:port and http(s):// URLs work too
          --once         send one request through the tunnel, print the answer and end
          --help         print this text

        Ports: 12000 for visitors, 12001 for agents, 12002 for health and metrics; free ones where these are taken.
        The variable TUNNEL2_ENGINE (auto, epoll, portable) chooses how sockets are served.

        Exit codes: 0 stopped, or --once got an answer of the service; 1 failed; 2 the command line is wrong.

        """;

    /// <summary>The user's own service, or null for the sample.</summary>
    public BackendTarget? Backend { get; private init; }

    /// <summary>Whether to send one request and end.</summary>
    public bool Once { get; private init; }

    /// <summary>Whether to print the help text and end.</summary>
    public bool WantsHelp { get; private init; }

    /// <summary>The mistake, in one line, or null. With a mistake no other property is valid.</summary>
    public string? Mistake { get; private init; }

    /// <summary>Reads the words after the program's name.</summary>
    public static QuickstartArguments Parse(IReadOnlyList<string> args)
    {
        var result = new QuickstartArguments();
        foreach (var arg in args)
        {
            switch (arg)
            {
                case "--help" or "-h" or "-?":
                    return new QuickstartArguments { WantsHelp = true };
                case "--once":
                    result = result with { Once = true };
                    break;
                case ['-', ..] or "":
                    return Wrong($"'{arg}' is not a flag; there are --once and --help");
                case var _ when result.Backend is not null:
                    return Wrong("only one service can be given");
                default:
                    if (BackendTarget.TryParse(arg, out var backend) is { } mistake)
                    {
                        return Wrong(mistake);
                    }

                    result = result with { Backend = backend };
                    break;
            }
        }

        return result;
    }

    private static QuickstartArguments Wrong(string mistake) => new() { Mistake = mistake };
}
