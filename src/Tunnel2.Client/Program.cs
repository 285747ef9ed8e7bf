using Tunnel2.Client;

return await AgentCli.RunAsync(args);
