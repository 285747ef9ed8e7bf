using System.Net;
using System.Runtime.InteropServices;
using Tunnel2.Ancestor;

const string Usage =
    """
    usage: tunnel2-ancestor entry --public ADDRESS:PORT --uplink ADDRESS:PORT
           tunnel2-ancestor agent --uplink ADDRESS:PORT --backend ADDRESS:PORT --names NAME,NAME...

      The design before Tunnel2, for comparison: see README.md beside its source.
    """;

if (args.Length % 2 == 0 || args[0] is not ("entry" or "agent"))
{
    await Console.Error.WriteLineAsync(Usage);
    return 2;
}

var values = args.Skip(1).Chunk(2).ToDictionary(static pair => pair[0], static pair => pair[1]);
if (values.Values.Any(static value => IPEndPoint.TryParse(value, out var endPoint) && !IPAddress.IsLoopback(endPoint.Address)))
{
    await Console.Error.WriteLineAsync("It has no access control, so it stays on loopback.");
    return 2;
}

using var stop = new CancellationTokenSource();
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
try
{
    if (args[0] == "entry")
    {
        await AncestorEntry.RunAsync(IPEndPoint.Parse(values["--public"]), IPEndPoint.Parse(values["--uplink"]), stop.Token);
    }
    else
    {
        await AncestorAgent.RunAsync(
            IPEndPoint.Parse(values["--uplink"]), IPEndPoint.Parse(values["--backend"]), values["--names"].Split(','), stop.Token);
    }

    return 0;
}
catch (Exception e) when (e is KeyNotFoundException or FormatException)
{
    await Console.Error.WriteLineAsync(Usage);
    return 2;
}
catch (OperationCanceledException) when (stop.IsCancellationRequested)
{
    return 0;
}

void Stop(PosixSignalContext context)
{
    context.Cancel = true;
    stop.Cancel();
}
