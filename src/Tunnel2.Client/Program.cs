using Tunnel2.Client;

AgentRunnerFactory.PrepareEngine();
return await AgentCli.RunAsync(args);
