using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Logins;

namespace Tunnel2.Client.Variables;

/// <summary>
/// Takes from the environment the values that command line and file do not give. An empty variable counts as not set,
/// but where it says who may visit: a rule that came out empty lets no visitor in.
/// </summary>
internal static class EnvironmentFallback
{
    private const string Fingerprint = "--server-fingerprint";
    private const string Ca = "--server-ca";
    private const string Token = "--token";

    /// <summary>Adds the missing values.</summary>
    /// <param name="input">The values given elsewhere.</param>
    /// <param name="environment">Returns the value of a variable, or null.</param>
    /// <param name="isOneTunnel">
    /// Whether it is for <c>tunnel2 http</c>. A file and the older form have their own names and upstreams.
    /// </param>
    /// <param name="login">What a login has stored, for what the environment does not say either; null: nothing.</param>
    public static AgentOptionsInput Apply(
        AgentOptionsInput input, Func<string, string?> environment, bool isOneTunnel, StoredLogin? login = null)
    {
        AgentOptionsInput filled = input;
        foreach (AgentSetting setting in AgentSettingTable.All)
        {
            if ((setting.IsAt(AgentSettingPlaces.Variable) || (isOneTunnel && setting.Variable is not null))
                && !IsSaidOtherwise(input, setting.Flag)
                && environment(setting.Variable!) is { } value
                && (value.Length > 0 || setting.IsGuard))
            {
                filled = filled.Give(setting.Flag, value, setting.Variable, isForAll: true);
            }
        }

        return TakeProxy(TakeLogin(filled, login), environment);
    }

    /// <summary>
    /// A stored token and trust are for the stored server alone: where another one is named anywhere, neither leaves this machine.
    /// </summary>
    private static AgentOptionsInput TakeLogin(AgentOptionsInput input, StoredLogin? login)
    {
        bool namesServer = (input["--server"] ?? input["--tunnel-host"] ?? input["--tunnel-port"]) is not null;
        if (login is null || (namesServer && input["--server"] != login.Server))
        {
            return input;
        }

        AgentOptionsInput filled = input.Give("--server", login.Server, $"{login.Path}: server");
        if ((input[Fingerprint] ?? input[Ca]) is null)
        {
            filled = filled.Give(Fingerprint, login.Fingerprint, $"{login.Path}: server_fingerprint")
                .Give(Ca, login.CaFile, $"{login.Path}: server_ca");
        }

        return input[TokenFile.Flag] is null ? filled.Give(Token, login.Token, $"{login.Path}: token") : filled;
    }

    /// <summary>The variables that all programs read. They count less than the agent's own.</summary>
    private static AgentOptionsInput TakeProxy(AgentOptionsInput input, Func<string, string?> environment)
    {
        foreach (var (key, variables) in new[]
        {
            (ProxyOptionsParser.EnvironmentKey, ProxyOptionsParser.Variables),
            (ProxyOptionsParser.ExceptionsKey, ProxyOptionsParser.ExceptionVariables),
        })
        {
            if (variables.FirstOrDefault(name => !string.IsNullOrEmpty(environment(name))) is { } variable)
            {
                input = input.Give(key, environment(variable), variable);
            }
        }

        return input;
    }

    /// <summary>
    /// Whether another flag gives the same information. If the user trusts the server in one way, the other way must not be added.
    /// </summary>
    private static bool IsSaidOtherwise(AgentOptionsInput said, string flag) => flag switch
    {
        Fingerprint or Ca => (said[Fingerprint] ?? said[Ca]) is not null,
        Token or TokenFile.Flag => (said[Token] ?? said[TokenFile.Flag]) is not null,
        "--name" => said["--url"] is not null,
        "--server" => said["--tunnel-host"] is not null,
        _ => false,
    };
}
