using Tunnel2.Quickstart;

return await QuickstartCommand.RunAsync(args);
