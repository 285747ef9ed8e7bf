namespace Tunnel2.Transport.Engine;

/// <summary>The environment variable by which programs without a settings file choose their engine.</summary>
internal static class EngineVariables
{
    /// <summary>The variable that names the engine.</summary>
    public const string Engine = "TUNNEL2_ENGINE";

    /// <summary>Chose what moved bytes below an engine, until each engine had one way only.</summary>
    private const string Removed = "TUNNEL2_TRANSPORT";

    /// <summary>
    /// Chooses as the environment says; a word that means nothing counts as none, until <see cref="FindMistakes"/> is asked.
    /// </summary>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    public static EngineMode Read(Func<string, string?> environment)
    {
        EngineSetup.FindMistake(environment(Engine), out var mode);
        return mode;
    }

    /// <summary>Tells of variables that name what is not there.</summary>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="hasEpoll">Whether the system has epoll: <see cref="EngineSetup.HasEpoll"/>.</param>
    /// <param name="builtIn">One more engine that this program was built with, or null.</param>
    public static IEnumerable<string> FindMistakes(Func<string, string?> environment, bool hasEpoll, string? builtIn = null)
    {
        if (environment(Engine) is { } name && name != builtIn)
        {
            if (EngineSetup.FindMistake(name, out var mode) is { } mistake)
            {
                yield return $"{Engine}: {mistake}";
            }
            else if (EngineSetup.FindObstacle(mode, hasEpoll) is { } obstacle)
            {
                yield return $"{Engine}: epoll {obstacle}";
            }
        }

        if (!string.IsNullOrEmpty(environment(Removed)))
        {
            yield return $"{Removed}: is not a variable any more; use {Engine} ({EngineSetup.Names})";
        }
    }
}
