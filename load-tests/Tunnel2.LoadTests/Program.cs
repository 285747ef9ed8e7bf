using System.Runtime.InteropServices;
using Tunnel2.LoadTests;

using var stop = new CancellationTokenSource();
var wasAsked = 0;

// The second one ends the program as usual.
void Stop(PosixSignalContext context)
{
    if (Interlocked.Exchange(ref wasAsked, 1) == 0)
    {
        context.Cancel = true;
        stop.Cancel();
    }
}

using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
return await LoadProgram.RunAsync(args, Console.Out, Console.Error, stop.Token);
