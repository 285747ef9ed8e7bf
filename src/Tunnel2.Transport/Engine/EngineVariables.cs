namespace Tunnel2.Transport.Engine;

/// <summary>The environment variables by which programs without a settings file choose their engine.</summary>
internal static class EngineVariables
{
    private const string Engine = "TUNNEL2_ENGINE";

    /// <summary>The variable that names the transport.</summary>
    public const string Transport = "TUNNEL2_TRANSPORT";

    /// <summary>Chooses as the environment says; a word that means nothing counts as none, until <see cref="FindMistakes"/> is asked.</summary>
    /// <remarks>Belongs into the first lines of Main, as <see cref="EngineSetup.Prepare"/>.</remarks>
    public static EngineChoice Prepare() => EngineSetup.Prepare(
        EngineSetup.TryParse(Environment.GetEnvironmentVariable(Engine), out var mode) ? mode : EngineMode.Auto,
        EngineSetup.TryParseTransport(Environment.GetEnvironmentVariable(Transport), out var transport) ? transport : TransportMode.Auto);

    /// <summary>Tells of variables that name what is not there.</summary>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="builtIn">One more transport that this program was built with, or null.</param>
    public static IEnumerable<string> FindMistakes(Func<string, string?> environment, string? builtIn = null)
    {
        if (!EngineSetup.TryParse(environment(Engine), out _))
        {
            yield return $"{Engine}: is not an engine; use auto, event-loop or portable";
        }

        if (environment(Transport) is { } transport && transport != builtIn && !EngineSetup.TryParseTransport(transport, out _))
        {
            yield return $"{Transport}: is not a transport of this build; use auto, epoll{(builtIn is null ? "" : $", {builtIn}")} or sockets";
        }
    }
}
