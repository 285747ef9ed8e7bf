using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <content>What becomes of a loop whose thread hangs or fails.</content>
internal sealed unsafe partial class EpollLoop
{
    private const string ThreadPlace = "event loop";

    /// <summary>Whether the process can do without this loop; null: it cannot.</summary>
    private readonly Func<bool>? _isSpare;

    private volatile bool _signWanted;
    private volatile bool _givenUp;
    private Exception? _failure;

    /// <summary>Whether connections may be given to it. From any thread.</summary>
    public bool IsInService => !_stopping && !_givenUp;

    /// <summary>What ended its thread, or null.</summary>
    public Exception? Failure => Volatile.Read(ref _failure);

    /// <summary>The descriptor that it waits on, for tests that take it away.</summary>
    internal int Descriptor => _epoll;

    /// <summary>Has the loop do a round, though nothing may have happened: <see cref="LoopStatistics.Rounds"/> says whether it
    /// did.</summary>
    public void AskForSign()
    {
        _signWanted = true;
        Wake();
    }

    /// <summary>
    /// Gives up a loop whose thread hangs: its connections are reset, and those that wait for them continue on the pool. Again for those
    /// that came meanwhile. The one that the thread hangs in is left alone where it holds its lock.
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

    /// <summary>The thread of a loop that was given up goes on.</summary>
    public void TakeBack() => _givenUp = false;

    /// <summary>The thread cannot go on. What it has not run yet is run by <see cref="Stop"/>, or the process ends.</summary>
    private bool MayGoOnWithout(Exception exception)
    {
        lock (_descriptors)
        {
            _stopping = true;
        }

        Volatile.Write(ref _failure, exception);
        Faults.Add(ThreadPlace, exception);
        return _isSpare?.Invoke() == true;
    }

    /// <summary>A wait fails for no other reason than a signal, or the loop's descriptor is none any more: then it would fail for
    /// ever.</summary>
    private static void ThrowUnlessInterrupted()
    {
        if (Errno.Last is not Errno.Interrupted and var errno)
        {
            throw Errno.ToException(errno);
        }
    }
}
