using System.Runtime.InteropServices;

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

    /// <summary>Reads a transport's name as the settings write it: <c>auto</c>, <c>epoll</c>, <c>sockets</c>.</summary>
    public static bool TryParseTransport(string? text, out TransportMode mode)
    {
        mode = text?.ToUpperInvariant() switch
        {
            null or "" or "AUTO" => TransportMode.Auto,
            "EPOLL" => TransportMode.Epoll,
            "SOCKETS" => TransportMode.Sockets,
            _ => (TransportMode)(-1),
        };
        return mode >= TransportMode.Auto;
    }

    /// <summary>Chooses, and sets the runtime's switches. Before the first socket of the process.</summary>
    /// <returns>What holds.</returns>
    public static EngineChoice Prepare(EngineMode mode, TransportMode transport = TransportMode.Auto)
    {
        var chosen = Choose(mode, transport, Environment.ProcessorCount, OperatingSystem.IsLinux(), HasEpoll);
        if (chosen is { Mode: EngineMode.EventLoop, Transport: TransportMode.Sockets })
        {
            // A value that somebody has set stays: it is the off switch of each.
            SetUnlessSet(InlineCompletions, "1");
            SetUnlessSet(EngineThreads, "1");
        }

        return chosen;
    }

    /// <summary>Starts the engine that <see cref="Prepare"/> chose.</summary>
    public static IEngine Start(EngineChoice chosen) => chosen switch
    {
        { Mode: EngineMode.EventLoop, Transport: TransportMode.Epoll } => new EpollEngine(),
        { Mode: EngineMode.EventLoop } => new EventLoopEngine(),
        _ => new PortableEngine(),
    };

    internal static EngineChoice Choose(EngineMode mode, TransportMode transport, int processors, bool isLinux, bool hasEpoll)
    {
        // Whoever asks for epoll by name asks for its loop.
        var asked = mode == EngineMode.Auto && transport == TransportMode.Epoll && hasEpoll ? EngineMode.EventLoop : mode;
        var chosen = Choose(asked, processors, isLinux);
        return new EngineChoice(chosen, chosen == EngineMode.EventLoop && transport != TransportMode.Sockets && hasEpoll ? TransportMode.Epoll : TransportMode.Sockets);
    }

    internal static EngineMode Choose(EngineMode mode, int processors, bool isLinux) => mode switch
    {
        EngineMode.Auto => isLinux && processors <= EventLoopProcessors ? EngineMode.EventLoop : EngineMode.Portable,
        EngineMode.EventLoop when !isLinux => EngineMode.Portable,
        _ => mode,
    };

    private static bool HasEpoll =>
        OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64;

    private static void SetUnlessSet(string name, string value)
    {
        if (string.IsNullOrEmpty(Environment.GetEnvironmentVariable(name)))
        {
            Environment.SetEnvironmentVariable(name, value);
        }
    }
}
