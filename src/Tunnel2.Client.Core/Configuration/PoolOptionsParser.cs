using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Judges what was given about pools as a whole; each text was judged before.</summary>
internal static class PoolOptionsParser
{
    private const string CheckFlag = "--health-check";

    private static readonly string[] _numbers = ["--health-interval", "--health-timeout", "--health-failures", "--health-successes"];

    public static void Check(AgentOptions options, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (options.Pool && options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake("--pool", "belongs to 'http': only tunnels of HTTP can share a name"));
        }

        if (options.Pool && input["--name"] is null && input["--url"] is null)
        {
            mistakes.Add(new OptionMistake("--pool", "needs --name: it is what the agents share"));
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
}
