namespace Tunnel2.Transport.Engine;

/// <summary>The environment variable with which programs without a settings file choose their engine.</summary>
internal static class EngineVariables
{
    /// <summary>The variable that names the engine.</summary>
    public const string Engine = "TUNNEL2_ENGINE";

    /// <summary>An earlier variable for how an engine moved bytes. Each engine now has one way only.</summary>
    private const string Removed = "TUNNEL2_TRANSPORT";

    /// <summary>The engine that the environment names. A wrong name counts as none; <see cref="FindMistakes"/> reports it.</summary>
    /// <param name="environment">Returns the value of a variable, or null.</param>
    public static EngineMode Read(Func<string, string?> environment)
    {
        EngineSetup.FindMistake(environment(Engine), out var mode);
        return mode;
    }

    /// <summary>Reports variables with wrong or unavailable values.</summary>
    /// <param name="environment">Returns the value of a variable, or null.</param>
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
