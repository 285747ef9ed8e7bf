using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Session;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Running;

/// <summary>The one place that names the implementation of <see cref="IAgentRunner"/>.</summary>
internal static class AgentRunnerFactory
{
#if PIPELINES_SOCKETS
    private const string? BuiltIn = Transport.PipelinesSockets.PipelinesEngine.Name;
#else
    private const string? BuiltIn = null;
#endif

    /// <summary>Reports environment variables that name an unknown engine.</summary>
    public static IEnumerable<string> FindMistakes(Func<string, string?> environment) =>
        EngineVariables.FindMistakes(environment, EngineSetup.HasEpoll, BuiltIn);

    /// <summary>Makes the object that runs the tunnels of a process.</summary>
    /// <param name="loops">The number of event loops; null: one, and more with further uplinks.</param>
    /// <param name="error">Where faults are written that cost no more than a connection. Thread-safe.</param>
    /// <exception cref="IOException">The system has no descriptors for the loops.</exception>
    public static IAgentRunner Create(int? loops, TextWriter error)
    {
        var engine = StartEngine(loops);
        ContainedFaultLines.Report(engine, error);
        return new TunnelAgent(engine, TimeProvider.System);
    }

    private static IEngine StartEngine(int? loops)
    {
#if PIPELINES_SOCKETS
        if (Environment.GetEnvironmentVariable(EngineVariables.Engine) == BuiltIn)
        {
            return new Transport.PipelinesSockets.PipelinesEngine();
        }

#endif
        return EngineSetup.Start(
            EngineVariables.Read(Environment.GetEnvironmentVariable), loops ?? 1, most: loops ?? EngineSetup.AutoLoops);
    }
}
