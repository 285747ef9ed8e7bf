using System.Runtime.CompilerServices;

namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// A lock for sections of a few dozen instructions that never wait, call out or enter the same lock again. Entering costs one atomic
/// instruction and leaving none, where <see cref="Lock"/> needs two and asks which thread it is on. A thread that finds it taken spins,
/// then yields. Decision 0013 says what that bought.
/// </summary>
/// <remarks>Not reentrant: a section that enters again would wait for itself.</remarks>
internal sealed class ShortLock
{
    private int _taken;

    /// <summary>Enters. The scope leaves when it is disposed of, on the same thread.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Scope EnterScope()
    {
        if (Interlocked.CompareExchange(ref _taken, 1, 0) != 0)
        {
            Wait();
        }

        return new Scope(this);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Wait()
    {
        var spinner = default(SpinWait);
        do
        {
            spinner.SpinOnce();
        }
        while (Volatile.Read(ref _taken) != 0 || Interlocked.CompareExchange(ref _taken, 1, 0) != 0);
    }

    /// <summary>The time between entering and leaving.</summary>
    internal readonly ref struct Scope(ShortLock owner)
    {
        /// <summary>Leaves.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Dispose() => Volatile.Write(ref owner._taken, 0);
    }
}
