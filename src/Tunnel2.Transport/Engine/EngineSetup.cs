using System.Runtime.InteropServices;

namespace Tunnel2.Transport.Engine;

/// <summary>Checks, chooses and starts an engine.</summary>
internal static class EngineSetup
{
    /// <summary>The names that <see cref="FindMistake(string?, out EngineMode)"/> accepts, as a message lists them.</summary>
    public const string Names = "auto, epoll or portable";

    /// <summary>
    /// Whether <see cref="EpollEngine"/> can run here. Only for these two processors the layouts of the kernel's structures are known.
    /// </summary>
    public static bool HasEpoll =>
        OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64;

    /// <summary>Reads an engine's name from the settings; no text means <c>auto</c>.</summary>
    /// <param name="text">The name.</param>
    /// <param name="mode">The engine; <see cref="EngineMode.Auto"/> if the name is wrong.</param>
    /// <returns>The mistake, as a sentence that continues after the name, or null.</returns>
    public static string? FindMistake(string? text, out EngineMode mode)
    {
        (mode, var mistake) = text?.ToUpperInvariant() switch
        {
            null or "" or "AUTO" => (EngineMode.Auto, (string?)null),
            "EPOLL" => (EngineMode.Epoll, null),
            "PORTABLE" => (EngineMode.Portable, null),
            "EVENT-LOOP" => (EngineMode.Auto, "is not an engine any more; epoll is its name now"),
            _ => (EngineMode.Auto, $"is not an engine; use {Names}"),
        };
        return mistake;
    }

    /// <summary>Reports an engine that is not available on a system.</summary>
    /// <param name="mode">The wanted engine.</param>
    /// <param name="hasEpoll">Whether the system has epoll: <see cref="HasEpoll"/>.</param>
    /// <returns>The reason, as a sentence that continues after the engine's name, or null.</returns>
    public static string? FindObstacle(EngineMode mode, bool hasEpoll) =>
        mode == EngineMode.Epoll && !hasEpoll ? "is not available here, it needs Linux on x64 or arm64; use auto or portable" : null;

    /// <summary>
    /// One loop for each processor that the process may use: the runtime's number respects affinity and the limits of containers.
    /// </summary>
    public static int AutoLoops => Math.Min(Environment.ProcessorCount, EpollEngine.MaxLoops);

    /// <summary>Starts an engine that is available here.</summary>
    /// <param name="mode">The engine.</param>
    /// <param name="loops">Event loops, 1 to <see cref="EpollEngine.MaxLoops"/>. The portable engine has none.</param>
    /// <param name="most">How many loops there may be with added ones; see <see cref="IEngine.TryAddLoop"/>.</param>
    /// <exception cref="IOException">The system has no descriptors for the loops.</exception>
    public static IEngine Start(EngineMode mode, int loops, int most = 0) =>
        Choose(mode, HasEpoll) == EngineMode.Epoll ? new EpollEngine(loops, most) : new PortableEngine();

    /// <summary>Resolves <see cref="EngineMode.Auto"/>.</summary>
    internal static EngineMode Choose(EngineMode mode, bool hasEpoll) =>
        mode != EngineMode.Auto ? mode : hasEpoll ? EngineMode.Epoll : EngineMode.Portable;
}
