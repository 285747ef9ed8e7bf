using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// The end of a loop whose thread hangs or fails.
internal sealed unsafe partial class EpollLoop
{
    private const string ThreadPlace = "event loop";

    /// <summary>How many waits may fail one after the other.</summary>
    private const int MaxFailedWaits = 3;

    /// <summary>Whether the process can continue without this loop; null: it cannot.</summary>
    private readonly Func<bool>? _isSpare;

    private volatile bool _signWanted;
    private volatile bool _givenUp;
    private Exception? _failure;
    private int _failedWaits;

    /// <summary>Whether it can be given connections. From any thread.</summary>
    public bool IsInService => !_stopping && !_givenUp;

    /// <summary>Whether it serves when another one has failed. From any thread.</summary>
    public bool IsLeft => IsInService && Failure is null;

    /// <summary>The exception that ended its thread, or null.</summary>
    public Exception? Failure => Volatile.Read(ref _failure);

    /// <summary>The descriptor on which it waits, for tests that close it.</summary>
    internal int Descriptor => _epoll;

    /// <summary>Makes the loop do a round, also without an event. <see cref="LoopStatistics.Rounds"/> shows whether it did.</summary>
    public void AskForSign()
    {
        _signWanted = true;
        Wake();
    }

    /// <summary>
    /// Gives up a loop whose thread hangs: its connections are reset, and code that waits for them continues on the pool. Call it again for
    /// connections that came later. A connection whose lock the hanging thread holds is left as it is.
    /// </summary>
    public void GiveUp()
    {
        lock (_descriptors)
        {
            if (_stopping)
            {
                return;
            }

            _givenUp = true;
        }

        foreach (var handle in _slots.Snapshot())
        {
            Faults.Run(EventPlace, static handle => handle.OnLoopLost(), handle);
        }

        RunRemoteOnPool();
    }

    /// <summary>The thread of a loop that was given up runs again.</summary>
    public void TakeBack() => _givenUp = false;

    /// <summary>
    /// Whether the process continues without the failed thread. <see cref="Stop"/> then runs the work that is left; otherwise the process
    /// ends. Until that is decided, no other loop counts this one as one that is left, and the others must not have ended until then
    /// because one of them saw this one out of service.
    /// </summary>
    private bool MayGoOnWithout(Exception exception)
    {
        // A full fence: two loops that fail at once cannot both count on the other.
        _ = Interlocked.Exchange(ref _failure, exception);
        Faults.Add(ThreadPlace, exception);
        var mayGoOn = _isSpare?.Invoke() == true;
        lock (_descriptors)
        {
            _stopping = true;
        }

        return mayGoOn;
    }

    /// <summary>
    /// A signal interrupts a wait. Any other error must repeat before it ends the loop: with a descriptor that is no longer valid each wait
    /// fails, and one that fails alone shows nothing.
    /// </summary>
    /// <param name="count">What the wait has returned: the number of events, or the negative of the error.</param>
    /// <exception cref="IOException">The loop cannot wait any more.</exception>
    private void NoteWait(int count)
    {
        if (count >= 0)
        {
            _failedWaits = 0;
        }
        else if (count != -Errno.Interrupted && ++_failedWaits == MaxFailedWaits)
        {
            throw Errno.ToException(-count);
        }
    }
}
