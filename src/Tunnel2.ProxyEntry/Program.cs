using Tunnel2.ProxyEntry.Hosting;

return await ProxyEntryCommand.RunAsync(args);
