using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Session;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client;

/// <summary>The one place that names the implementation behind <see cref="IAgentRunner"/>.</summary>
internal static class AgentRunnerFactory
{
    /// <summary>Chooses the engine for the process. The first lines of Main: the runtime reads its switches when the first socket is made.</summary>
    public static EngineChoice PrepareEngine()
    {
        // A word that is none of the modes is refused with the command line's mistakes, before an engine is started.
        return EngineSetup.Prepare(
            EngineSetup.TryParse(Environment.GetEnvironmentVariable("TUNNEL2_ENGINE"), out var mode) ? mode : EngineMode.Auto,
            EngineSetup.TryParseTransport(Environment.GetEnvironmentVariable("TUNNEL2_TRANSPORT"), out var transport) ? transport : TransportMode.Auto);
    }

    public static IAgentRunner Create() => new TunnelAgent(StartEngine(), TimeProvider.System);

    private static IEngine StartEngine()
    {
#if PIPELINES_SOCKETS
        if (Environment.GetEnvironmentVariable("TUNNEL2_TRANSPORT") == Transport.PipelinesSockets.PipelinesEngine.Name)
        {
            return new Transport.PipelinesSockets.PipelinesEngine();
        }

#endif
        return EngineSetup.Start(PrepareEngine());
    }
}
