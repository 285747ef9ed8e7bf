using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// A session's place in the pool of its name: whether its service works, and how large its share of the requests is. The directory changes
/// what it says about leaving, the agent's uplinks its health, and requests its pause. Thread-safe.
/// </summary>
internal sealed class PoolMember
{
    /// <summary>The share of a member that has no slow start, or whose slow start is over.</summary>
    public const int FullWeight = 1000;

    /// <summary>How long a service of UDP is spared where the settings have no pause.</summary>
    public static readonly TimeSpan DatagramPause = TimeSpan.FromSeconds(1);

    /// <summary>The share with which a slow start begins.</summary>
    private const int LeastWeight = FullWeight / 10;

    private readonly Lock _gate = new();
    private readonly TimeProvider _time;
    private readonly long _slowStart;
    private readonly long _pause;
    private uint _counter;
    private volatile bool _isHealthy;
    private volatile bool _handsOver;
    private volatile bool _saidGoodbye;

    /// <summary>When the slow start began, a timestamp; 0: it is over.</summary>
    private long _startedAt;

    /// <summary>Until when the member is spared, a timestamp; 0: it is not.</summary>
    private long _pausedUntil;

    /// <param name="time">The clock.</param>
    /// <param name="slowStart">How long its slow starts last.</param>
    /// <param name="pause">How long it is spared when its service took no connection.</param>
    /// <param name="isHealthy">Whether its service counts as healthy from the start.</param>
    public PoolMember(TimeProvider time, TimeSpan slowStart, TimeSpan pause, bool isHealthy)
    {
        _time = time;
        _slowStart = TicksOf(slowStart);
        _pause = TicksOf(pause);
        _isHealthy = isHealthy;
    }

    /// <summary>The pool; null until the session is registered.</summary>
    public SessionPool? Pool { get; private set; }

    /// <summary>The session.</summary>
    public EntrySession Session { get; private set; } = null!;

    /// <summary>The number of its registration.</summary>
    public long Epoch { get; private set; }

    /// <summary>A timestamp of the clock.</summary>
    public long Now => _time.GetTimestamp();

    /// <summary>Whether the agent's check finds its service healthy; true for an agent that does not check.</summary>
    public bool IsHealthy => _isHealthy;

    /// <summary>Whether the agent is about to stop and still serves.</summary>
    public bool HandsOver
    {
        get => _handsOver;
        set => _handsOver = value;
    }

    /// <summary>Whether the agent takes no more requests.</summary>
    public bool SaidGoodbye
    {
        get => _saidGoodbye;
        set => _saidGoodbye = value;
    }

    /// <summary>Whether it is spared at this moment, because its service took no connection.</summary>
    /// <param name="now">A timestamp of the clock.</param>
    public bool IsPaused(long now) => Volatile.Read(ref _pausedUntil) is > 0 and var until && now < until;

    /// <summary>Its share of the requests that it could get, in thousandths.</summary>
    /// <param name="now">A timestamp of the clock.</param>
    public int WeightAt(long now)
    {
        var began = Volatile.Read(ref _startedAt);
        if (began == 0 || _slowStart == 0)
        {
            return FullWeight;
        }

        var passed = now - began;
        if (passed >= _slowStart)
        {
            // Another one that began in that time stays.
            Interlocked.CompareExchange(ref _startedAt, 0, began);
            return FullWeight;
        }

        return LeastWeight + (int)((FullWeight - LeastWeight) * Math.Max(0, passed) / _slowStart);
    }

    /// <summary>The agent says how its service is.</summary>
    /// <param name="state">How.</param>
    /// <param name="counter">The number of the statement; one that is not higher than all before it changes nothing.</param>
    /// <returns>Whether the state is another one now.</returns>
    public bool Report(ServiceState state, uint counter)
    {
        lock (_gate)
        {
            if (counter <= _counter || state is not (ServiceState.Healthy or ServiceState.Unhealthy))
            {
                return false;
            }

            _counter = counter;
            var isHealthy = state == ServiceState.Healthy;
            if (isHealthy == _isHealthy)
            {
                return false;
            }

            if (isHealthy)
            {
                StartSlowly(_time.GetTimestamp());
            }

            _isHealthy = isHealthy;
            return true;
        }
    }

    /// <summary>
    /// Its service took no connection: it is spared for a while, and then starts slowly. Where no pause is wanted, a service of UDP is
    /// spared all the same: a datagram is not tried elsewhere, so the next one would meet the same silence.
    /// </summary>
    public void Spare()
    {
        var pause = _pause > 0 || Session is not { Kind: SessionKind.Udp } ? _pause : TicksOf(DatagramPause);
        if (pause > 0)
        {
            var until = Math.Max(1, _time.GetTimestamp() + pause);
            Volatile.Write(ref _pausedUntil, until);
            StartSlowly(until);
        }
    }

    /// <summary>The session was registered. Called with the directory's lock held, before a request can find the member.</summary>
    public void Join(SessionPool pool, EntrySession session, long epoch)
    {
        Pool = pool;
        Session = session;
        Epoch = epoch;
        session.Terms = pool.Terms;
        StartSlowly(_time.GetTimestamp());
    }

    /// <summary>
    /// An uplink was found to be stalled: where another member or uplink works, the streams of which nothing has been sent yet are taken
    /// back, so that their owners can try there.
    /// </summary>
    public void OnStalled(UplinkConnection uplink)
    {
        var own = default(PoolTries);
        own.Add(this);
        if (Pool?.HasOther(own) == true)
        {
            uplink.WithdrawUnsent();
        }
        else
        {
            Session.Tunnel.OnStalled(uplink);
        }
    }

    private void StartSlowly(long at) => Volatile.Write(ref _startedAt, at == 0 ? 1 : at);

    private long TicksOf(TimeSpan time) => (long)(time.TotalSeconds * _time.TimestampFrequency);
}
