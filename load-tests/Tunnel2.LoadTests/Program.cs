using System.Runtime.InteropServices;
using Tunnel2.LoadTests;
using Tunnel2.LoadTests.Running;

using var stop = new CancellationTokenSource();
var wasAsked = 0;

// The second one ends the program as usual, and what it started with it: a signal may be for this process alone.
void Stop(PosixSignalContext context)
{
    if (Interlocked.Exchange(ref wasAsked, 1) == 0)
    {
        context.Cancel = true;
        stop.Cancel();
    }
    else
    {
        StartedTunnel.KillAll();
    }
}

using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
return await LoadProgram.RunAsync(args, new LossyWriter(Console.Out), new LossyWriter(Console.Error), stop.Token);
