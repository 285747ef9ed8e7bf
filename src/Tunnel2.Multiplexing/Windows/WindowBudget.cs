using System.Diagnostics;

namespace Tunnel2.Multiplexing.Windows;

/// <summary>
/// How much the windows of streams may grow in all, beyond the size that each has at its start. An uplink has a budget inside that of its
/// process: memory is taken from both before a peer gets credit for it. Thread-safe.
/// </summary>
internal sealed class WindowBudget
{
    /// <summary>What all uplinks of a process share by default: 256 MiB.</summary>
    public const long DefaultProcessLimit = 256L * 1024 * 1024;

    private readonly long _limit;
    private readonly WindowBudget? _parent;
    private long _taken;

    /// <summary>Makes a budget of which nothing is taken.</summary>
    /// <param name="limit">Bytes, ≥ 0.</param>
    /// <param name="parent">The budget of which this one is a part, or null.</param>
    public WindowBudget(long limit, WindowBudget? parent = null)
    {
        _limit = limit;
        _parent = parent;
    }

    /// <summary>The budget that a process shares unless a test or a host brings its own.</summary>
    public static WindowBudget Process { get; } = new(DefaultProcessLimit);

    /// <summary>Bytes taken and not given back.</summary>
    public long Taken => Volatile.Read(ref _taken);

    /// <summary>Takes all of it or nothing.</summary>
    /// <param name="count">Bytes, ≥ 1.</param>
    public bool TryTake(int count)
    {
        if (Interlocked.Add(ref _taken, count) > _limit)
        {
            Interlocked.Add(ref _taken, -count);
            return false;
        }

        if (_parent is not null && !_parent.TryTake(count))
        {
            Interlocked.Add(ref _taken, -count);
            return false;
        }

        return true;
    }

    /// <summary>Gives back what was taken.</summary>
    /// <param name="count">Bytes, ≥ 0.</param>
    public void Return(int count)
    {
        var left = Interlocked.Add(ref _taken, -count);
        Debug.Assert(left >= 0, "Only what was taken can be given back.");
        _parent?.Return(count);
    }
}
