namespace Tunnel2.Transport.Epoll;

/// <summary>Something with a descriptor that a loop waits for.</summary>
internal abstract class EpollHandle
{
    /// <summary>
    /// Slot and generation under which the loop knows it; 0 while it does not. The kernel hands it back with each event: one that was
    /// fetched before a close finds another generation, or nobody, and drops.
    /// </summary>
    public ulong Token { get; set; }

    /// <summary>Handles events. Only on the loop's thread, with no lock held.</summary>
    /// <param name="mask">What the kernel reported.</param>
    public abstract void OnEvents(uint mask);

    /// <summary>The loop ends: closes the descriptor; whoever waits is told.</summary>
    public abstract void OnLoopStopped();

    /// <summary><see cref="OnEvents"/> has thrown: nobody knows what state its users are in.</summary>
    public abstract void OnFault();
}
