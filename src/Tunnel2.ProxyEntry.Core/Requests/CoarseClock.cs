using System.Runtime.CompilerServices;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// A clock in milliseconds, for limits of seconds. Each piece of a body reads it: the system's coarse count costs a fraction of a
/// timestamp.
/// </summary>
internal readonly struct CoarseClock
{
    /// <summary>Null: the system's clock.</summary>
    private readonly TimeProvider? _other;

    /// <param name="time">The clock.</param>
    public CoarseClock(TimeProvider time) => _other = ReferenceEquals(time, TimeProvider.System) ? null : time;

    /// <summary>Milliseconds since a moment that is the same for all readers of the clock.</summary>
    public long Milliseconds => _other is null ? Environment.TickCount64 : Read(_other);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Read(TimeProvider time) => (long)time.GetElapsedTime(0).TotalMilliseconds;
}
