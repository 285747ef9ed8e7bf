namespace Tunnel2.Multiplexing.Windows;

/// <summary>
/// The round trip of an uplink, measured by PING. The shortest one seen is that of the path. What others took longer was
/// spent in queues, and no window should grow for those. Thread-safe.
/// </summary>
internal sealed class RoundTripEstimator
{
    /// <summary>How many answers come first, one right after the other: the first ones meet code that has never run.</summary>
    private const int Burst = 4;

    private static readonly TimeSpan _interval = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly TimeProvider _time;
    private ulong _pending;
    private long _lastProbe;
    private int _answers;
    private long _minimum;
    private long _path;
    private long _last;

    public RoundTripEstimator(TimeProvider time) => _time = time;

    /// <summary>The shortest round trip seen, or zero before the first answer.</summary>
    public TimeSpan Minimum => new(Volatile.Read(ref _minimum));

    /// <summary>
    /// <see cref="Minimum"/> once the first few answers are in, and zero before: one that met code that had never run, or the bytes of a
    /// download that was faster than the first PING, would pass for a long path.
    /// </summary>
    public TimeSpan Path => new(Volatile.Read(ref _path));

    /// <summary>The last round trip, or zero before the first answer.</summary>
    public TimeSpan Last => new(Volatile.Read(ref _last));

    /// <summary>Whether the first few answers are still missing.</summary>
    public bool IsStarting
    {
        get
        {
            lock (_gate)
            {
                return _answers < Burst;
            }
        }
    }

    /// <summary>Begins a measurement, also while others are under way: the newest PING counts.</summary>
    /// <returns>What the PING has to carry.</returns>
    public ulong Begin(long now)
    {
        lock (_gate)
        {
            return BeginUnsynchronized(now);
        }
    }

    /// <summary>Begins a measurement if none is under way and the last one is old enough.</summary>
    /// <param name="now">A timestamp.</param>
    /// <param name="opaque">What the PING has to carry.</param>
    public bool TryBegin(long now, out ulong opaque)
    {
        lock (_gate)
        {
            opaque = 0;
            if (_pending != 0 || (_answers >= Burst && _time.GetElapsedTime(_lastProbe, now) < _interval))
            {
                return false;
            }

            opaque = BeginUnsynchronized(now);
            return true;
        }
    }

    /// <summary>A PING was answered.</summary>
    /// <param name="opaque">What it carried. Only the newest PING's counts.</param>
    /// <param name="now">A timestamp.</param>
    public void OnAnswer(ulong opaque, long now)
    {
        lock (_gate)
        {
            if (opaque == 0 || opaque != _pending)
            {
                return;
            }

            _pending = 0;
            _answers = Math.Min(Burst, _answers + 1);
            var ticks = Math.Max(1, _time.GetElapsedTime(_lastProbe, now).Ticks);
            Volatile.Write(ref _last, ticks);
            if (_minimum == 0 || ticks < _minimum)
            {
                Volatile.Write(ref _minimum, ticks);
            }

            if (_answers == Burst)
            {
                Volatile.Write(ref _path, _minimum);
            }
        }
    }

    private ulong BeginUnsynchronized(long now)
    {
        _lastProbe = now;
        return _pending = (ulong)Math.Max(1, now);
    }
}
