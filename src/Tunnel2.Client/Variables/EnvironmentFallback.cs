using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Variables;

/// <summary>Takes from the environment the values that command line and file do not give. An empty variable counts as not set.</summary>
internal static class EnvironmentFallback
{
    private const string Fingerprint = "--server-fingerprint";
    private const string Ca = "--server-ca";

    /// <summary>Adds the missing values.</summary>
    /// <param name="input">The values given elsewhere.</param>
    /// <param name="environment">Returns the value of a variable, or null.</param>
    /// <param name="isOneTunnel">
    /// Whether it is for <c>tunnel2 http</c>. A file and the older form have their own names and upstreams.
    /// </param>
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
    /// Whether another flag gives the same information. If the user trusts the server in one way, the other way must not be added.
    /// </summary>
    private static bool IsSaidOtherwise(AgentOptionsInput said, string flag) => flag switch
    {
        Fingerprint or Ca => (said[Fingerprint] ?? said[Ca]) is not null,
        "--name" => said["--url"] is not null,
        "--server" => said["--tunnel-host"] is not null,
        _ => false,
    };
}
