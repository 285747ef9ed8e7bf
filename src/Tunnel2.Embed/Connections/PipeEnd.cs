namespace Tunnel2.Embed.Connections;

/// <summary>What has to be done with an end of a pipe that was ended.</summary>
internal enum PipeEnding
{
    /// <summary>Nothing: it had ended before.</summary>
    None = 0,

    /// <summary>No call uses it: the caller completes it.</summary>
    Complete,

    /// <summary>It is in use: the caller cancels what is pending, and its user completes it.</summary>
    Cancel,
}

/// <summary>
/// One end of a pipe, which one user works with and any thread may end. It is completed once, and never while it is in use: its memory goes
/// back to a pool then, and another connection may have it at once. A mutable structure: a field, never a copy.
/// </summary>
internal struct PipeEnd
{
    private const int InUse = 1;
    private const int Ended = 2;

    private int _state;

    /// <summary>A use begins.</summary>
    /// <returns>False: it has ended.</returns>
    public bool TryUse()
    {
        if ((Interlocked.Or(ref _state, InUse) & Ended) == 0)
        {
            return true;
        }

        Interlocked.And(ref _state, ~InUse);
        return false;
    }

    /// <summary>The use is over.</summary>
    /// <returns>Whether it was ended during the use: the caller completes it.</returns>
    public bool StopUse() => (Interlocked.And(ref _state, ~InUse) & Ended) != 0;

    /// <summary>Ends it.</summary>
    public PipeEnding End()
    {
        int before = Interlocked.Or(ref _state, Ended);
        return (before & Ended) != 0 ? PipeEnding.None : (before & InUse) != 0 ? PipeEnding.Cancel : PipeEnding.Complete;
    }
}
