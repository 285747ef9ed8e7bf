using System.Runtime.InteropServices;

namespace Tunnel2.Client;

/// <summary>
/// Turns SIGINT and SIGTERM (Ctrl+C and similar on Windows) into a request to stop. The first asks for a graceful stop. The second ends the
/// process at once with 128 + the signal's number, as a shell reports it.
/// </summary>
internal sealed class StopSignals : IDisposable
{
    private const int SigInt = 2;
    private const int SigTerm = 15;

    private readonly CancellationTokenSource _stop = new();
    private readonly Action<int> _exit;
    private int _signals;

    // In fields, because a collected registration no longer receives its signal.
    private readonly PosixSignalRegistration _interrupt;
    private readonly PosixSignalRegistration _terminate;

    /// <summary>Registers the handlers.</summary>
    /// <param name="exit">Ends the process with a code; <see cref="Environment.Exit"/> outside tests.</param>
    public StopSignals(Action<int> exit)
    {
        _exit = exit;
        _interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => OnSignal(context, SigInt));
        _terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => OnSignal(context, SigTerm));
    }

    /// <summary>Cancelled by the first signal.</summary>
    public CancellationToken Token => _stop.Token;

    public void Dispose()
    {
        _interrupt.Dispose();
        _terminate.Dispose();
        _stop.Dispose();
    }

    /// <summary>Handles a signal; tests call it instead of the system.</summary>
    internal void OnSignal(int number)
    {
        if (Interlocked.Increment(ref _signals) > 1)
        {
            _exit(128 + number);
            return;
        }

        // Not on the signal's thread, because code that reacts to the token must not hold up the second signal.
        _ = _stop.CancelAsync();
    }

    private void OnSignal(PosixSignalContext context, int number)
    {
        context.Cancel = true;
        OnSignal(number);
    }
}
