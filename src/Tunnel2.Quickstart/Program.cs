using Tunnel2.Quickstart;
using Tunnel2.Transport.Engine;

// First of all: the runtime reads the engine's switches when the first socket is made.
var engine = EngineVariables.Prepare();
return await QuickstartCommand.RunAsync(args, engine);
