using System.Runtime.InteropServices;

namespace Tunnel2.Client;

/// <summary>
/// Turns SIGINT and SIGTERM (Ctrl+C and similar on Windows) and SIGHUP (the terminal was closed) into a request to stop. The first asks for
/// a graceful stop. The second ends the process at once with 128 + the signal's number, as a shell reports it; so does a time limit for
/// what does not end by itself.
/// </summary>
internal sealed class StopSignals : IDisposable
{
    private const int SigHup = 1;
    private const int SigInt = 2;
    private const int SigTerm = 15;

    private readonly CancellationTokenSource _stop = new();
    private readonly Action<int> _exit;
    private readonly TimeSpan? _patience;
    private readonly TimeProvider _time;
    private ITimer? _late;
    private int _signals;
    private int _left;

    // In fields, because a collected registration no longer receives its signal.
    private readonly PosixSignalRegistration _hangUp;
    private readonly PosixSignalRegistration _interrupt;
    private readonly PosixSignalRegistration _terminate;

    /// <summary>Registers the handlers.</summary>
    /// <param name="exit">Ends the process with a code; <see cref="Environment.Exit"/> outside tests.</param>
    /// <param name="patience">How long after the first signal the process is ended as by a second one; null: it is not.</param>
    /// <param name="time">The clock; null: the system's.</param>
    public StopSignals(Action<int> exit, TimeSpan? patience = null, TimeProvider? time = null)
    {
        _exit = exit;
        _patience = patience;
        _time = time ?? TimeProvider.System;
        _hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context => OnSignal(context, SigHup));
        _interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => OnSignal(context, SigInt));
        _terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => OnSignal(context, SigTerm));
    }

    /// <summary>Cancelled by the first signal.</summary>
    public CancellationToken Token => _stop.Token;

    /// <summary>Leaves SIGINT to another program of the same terminal until the result is disposed of.</summary>
    public IDisposable LeaveInterrupts()
    {
        Interlocked.Increment(ref _left);
        return new Leaving(this);
    }

    public void Dispose()
    {
        _hangUp.Dispose();
        _interrupt.Dispose();
        _terminate.Dispose();
        _stop.Dispose();
        _late?.Dispose();
    }

    /// <summary>Asks for a graceful stop without a signal.</summary>
    public void Stop() => _ = _stop.CancelAsync();

    /// <summary>Handles a signal; tests call it instead of the system.</summary>
    internal void OnSignal(int number)
    {
        if (number == SigInt && Volatile.Read(ref _left) > 0)
        {
            return;
        }

        if (Interlocked.Increment(ref _signals) > 1)
        {
            // The kernel and the shell both report a closed terminal, so a second report asks for no haste.
            if (number == SigHup)
            {
                return;
            }

            _exit(128 + number);
            return;
        }

        if (_patience is { } patience)
        {
            _late = _time.CreateTimer(_ => _exit(128 + number), null, patience, Timeout.InfiniteTimeSpan);
        }

        // Not on the signal's thread, because code that reacts to the token must not hold up the second signal.
        _ = _stop.CancelAsync();
    }

    private void OnSignal(PosixSignalContext context, int number)
    {
        context.Cancel = true;
        OnSignal(number);
    }

    private sealed class Leaving(StopSignals signals) : IDisposable
    {
        private StopSignals? _signals = signals;

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _signals, null) is { } left)
            {
                Interlocked.Decrement(ref left._left);
            }
        }
    }
}
