using System.Runtime.InteropServices;
using Tunnel2.TestBackend;

var options = CommandLine.Parse(args, out var error);
if (options is null)
{
    await (error is null ? Console.Out : Console.Error).WriteLineAsync(error is null ? CommandLine.Usage : $"{error}\n{CommandLine.Usage}");
    return error is null ? 0 : 2;
}

if (options.Engine == TestBackendEngine.EventLoop)
{
    // The runtime reads these when the first socket is made.
    Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");
    Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_THREAD_COUNT", "1");
}

var stop = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
try
{
    await using var server = await TestBackendServer.StartAsync(options);
    Console.WriteLine($"Listening on {server.BaseAddress}");
    await stop.Task;
    return 0;
}
catch (IOException e)
{
    await Console.Error.WriteLineAsync(e.Message);
    return 1;
}

void Stop(PosixSignalContext context)
{
    context.Cancel = true;
    stop.TrySetResult();
}
