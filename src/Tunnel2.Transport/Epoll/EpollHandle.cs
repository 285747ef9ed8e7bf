namespace Tunnel2.Transport.Epoll;

/// <summary>An object with a descriptor for which a loop waits.</summary>
internal abstract class EpollHandle
{
    /// <summary>
    /// Slot and generation under which the loop knows the handle; 0 if it does not. The kernel returns the token with each event. An event
    /// that was fetched before a close finds another generation or an empty slot, and is dropped.
    /// </summary>
    public ulong Token { get; set; }

    /// <summary>The number of its last event that the loop has noted in advance; 0: none. On the loop's thread.</summary>
    public long LastEvent { get; set; }

    /// <summary>Handles events. Only on the loop's thread, with no lock held.</summary>
    /// <param name="mask">What the kernel reported.</param>
    public abstract void OnEvents(uint mask);

    /// <summary>The loop ends: closes the descriptor and wakes waiting operations.</summary>
    public abstract void OnLoopStopped();

    /// <summary>
    /// The loop's thread hangs or has failed, so it serves no connection. The connection ends with a reset, and its waits fail. Called from
    /// any thread, perhaps several times. A handle whose lock the hanging thread holds is left as it is.
    /// </summary>
    public abstract void OnLoopLost();

    /// <summary><see cref="OnEvents"/> has thrown, so the state of its users is unknown.</summary>
    public abstract void OnFault();
}
