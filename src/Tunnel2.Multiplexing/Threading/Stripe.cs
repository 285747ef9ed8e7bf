using System.Numerics;

namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// Which part of what is split by threads a thread uses. Threads are numbered as they come, so that as many as there are processors, such
/// as event loops, have one each; those beyond share. Code that uses a stripe must be ready for a second thread on it.
/// </summary>
internal static class Stripe
{
    /// <summary>As many as processors, but not more than the event loops that there may be.</summary>
    private const int Most = 32;

    private static int _claims;

    /// <summary>Its number and 1; 0: none yet.</summary>
    [ThreadStatic]
    private static int _own;

    /// <summary>How many there are, a power of two.</summary>
    public static int Count { get; } = (int)BitOperations.RoundUpToPowerOf2((uint)Math.Clamp(Environment.ProcessorCount, 1, Most));

    /// <summary>That of this thread, from 0.</summary>
    public static int Current => (_own != 0 ? _own : Claim()) - 1;

    /// <summary>Gives this thread a certain one, for threads that are numbered already.</summary>
    /// <param name="number">Any number ≥ 0.</param>
    public static void Use(int number) => _own = (number & (Count - 1)) + 1;

    private static int Claim() => _own = ((Interlocked.Increment(ref _claims) - 1) & (Count - 1)) + 1;
}
