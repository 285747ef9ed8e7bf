namespace Tunnel2.Transport.Epoll;

/// <summary>Something with a descriptor that a loop waits for.</summary>
internal abstract class EpollHandle
{
    /// <summary>
    /// Slot and generation under which the loop knows it; 0 while it does not. The kernel hands it back with each event: one that was
    /// fetched before a close finds another generation, or nobody, and drops.
    /// </summary>
    public ulong Token { get; set; }

    /// <summary>The number of the last event for it that its loop has noted ahead; 0: none. On the loop's thread.</summary>
    public long LastEvent { get; set; }

    /// <summary>Handles events. Only on the loop's thread, with no lock held.</summary>
    /// <param name="mask">What the kernel reported.</param>
    public abstract void OnEvents(uint mask);

    /// <summary>The loop ends: closes the descriptor and wakes those that wait.</summary>
    public abstract void OnLoopStopped();

    /// <summary>
    /// The loop's thread hangs or has failed: nobody is served by it now. A connection ends with a reset, and those that wait learn it.
    /// From any thread, and perhaps again and again; what the hanging thread holds is left as it is.
    /// </summary>
    public abstract void OnLoopLost();

    /// <summary><see cref="OnEvents"/> has thrown: nobody knows what state its users are in.</summary>
    public abstract void OnFault();
}
