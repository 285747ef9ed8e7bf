using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Variables;

/// <summary>Fills what neither the command line nor a file has said from the environment. An empty variable counts as not set.</summary>
internal static class EnvironmentFallback
{
    private const string Fingerprint = "--server-fingerprint";
    private const string Ca = "--server-ca";

    /// <summary>Fills what is missing.</summary>
    /// <param name="input">What was said elsewhere.</param>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="isOneTunnel">Whether it is for <c>tunnel2 http</c>: a file and the older form have names and upstreams of their
    /// own.</param>
    public static AgentOptionsInput Apply(AgentOptionsInput input, Func<string, string?> environment, bool isOneTunnel)
    {
        AgentOptionsInput filled = input;
        foreach (AgentSetting setting in AgentSettingTable.All)
        {
            if ((setting.IsAt(AgentSettingPlaces.Variable) || (isOneTunnel && setting.Variable is not null))
                && !IsSaidOtherwise(input, setting.Flag)
                && environment(setting.Variable!) is { Length: > 0 } value)
            {
                filled = filled.Give(setting.Flag, value, setting.Variable);
            }
        }

        return filled;
    }

    /// <summary>
    /// Whether a flag of another name has said the same. A user who trusts the server in one way is not to be given the other one.
    /// </summary>
    private static bool IsSaidOtherwise(AgentOptionsInput said, string flag) => flag switch
    {
        Fingerprint or Ca => (said[Fingerprint] ?? said[Ca]) is not null,
        "--name" => said["--url"] is not null,
        "--server" => said["--tunnel-host"] is not null,
        _ => false,
    };
}
