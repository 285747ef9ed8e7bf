using Tunnel2.Ports;

return PortsCommand.Run(args, Console.Out, Console.Error);
