using Tunnel2.LoadTests.NBomber;
using Tunnel2.LoadTests.Running;

return await ToolSuite.RunAsync(args, new NBomberTool(), Console.Out, Console.Error);
