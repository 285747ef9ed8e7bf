using Tunnel2.Quickstart;
using Tunnel2.Transport.Engine;

// First of all: the runtime reads the engine's switches when the first socket is made.
var engine = EngineSetup.Prepare(
    EngineSetup.TryParse(Environment.GetEnvironmentVariable("TUNNEL2_ENGINE"), out var mode) ? mode : EngineMode.Auto,
    EngineSetup.TryParseTransport(Environment.GetEnvironmentVariable("TUNNEL2_TRANSPORT"), out var transport) ? transport : TransportMode.Auto);
return await QuickstartCommand.RunAsync(args, engine);
