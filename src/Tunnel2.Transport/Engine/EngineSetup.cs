namespace Tunnel2.Transport.Engine;

/// <summary>
/// Chooses and starts the engine. The runtime reads its switches when the first socket is made, so <see cref="Prepare"/> belongs into the
/// first lines of Main.
/// </summary>
internal static class EngineSetup
{
    private const string InlineCompletions = "DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS";
    private const string EngineThreads = "DOTNET_SYSTEM_NET_SOCKETS_THREAD_COUNT";

    /// <summary>Up to this many processors <see cref="EngineMode.Auto"/> means <see cref="EngineMode.EventLoop"/>.</summary>
    private const int EventLoopProcessors = 2;

    /// <summary>Reads a mode's name as the settings write it: <c>auto</c>, <c>event-loop</c>, <c>portable</c>.</summary>
    public static bool TryParse(string? text, out EngineMode mode)
    {
        mode = text?.ToUpperInvariant() switch
        {
            null or "" or "AUTO" => EngineMode.Auto,
            "EVENT-LOOP" => EngineMode.EventLoop,
            "PORTABLE" => EngineMode.Portable,
            _ => (EngineMode)(-1),
        };
        return mode >= EngineMode.Auto;
    }

    /// <summary>Sets the runtime's switches for a mode. Before the first socket of the process.</summary>
    /// <returns>The mode that holds, never <see cref="EngineMode.Auto"/>.</returns>
    public static EngineMode Prepare(EngineMode mode)
    {
        var chosen = Choose(mode, Environment.ProcessorCount, OperatingSystem.IsLinux());
        if (chosen == EngineMode.EventLoop)
        {
            // A value that somebody has set stays: it is the off switch of each.
            SetUnlessSet(InlineCompletions, "1");
            SetUnlessSet(EngineThreads, "1");
        }

        return chosen;
    }

    /// <summary>Starts the engine for a mode that <see cref="Prepare"/> chose.</summary>
    public static IEngine Start(EngineMode chosen) => chosen == EngineMode.EventLoop ? new EventLoopEngine() : new PortableEngine();

    internal static EngineMode Choose(EngineMode mode, int processors, bool isLinux) => mode switch
    {
        EngineMode.Auto => isLinux && processors <= EventLoopProcessors ? EngineMode.EventLoop : EngineMode.Portable,
        EngineMode.EventLoop when !isLinux => EngineMode.Portable,
        _ => mode,
    };

    private static void SetUnlessSet(string name, string value)
    {
        if (string.IsNullOrEmpty(Environment.GetEnvironmentVariable(name)))
        {
            Environment.SetEnvironmentVariable(name, value);
        }
    }
}
