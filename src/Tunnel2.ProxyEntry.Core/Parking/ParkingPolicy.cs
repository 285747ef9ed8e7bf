using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Parking;

/// <summary>
/// Decides whether a request for an absent name is worth waiting, from what is known of its agent. Thread-safe.
/// </summary>
/// <remarks>
/// | the agent | a request waits |
/// |---|---|
/// | was lost without a word less than a minute ago | up to the limit: it is connecting again |
/// | said goodbye | until the limit has passed since the goodbye: a restart is quick, and a stop looks the same until then |
/// | was never here, and ProxyEntry has just started | up to the limit: it was connected to the process before |
/// | everything else | not at all |
/// </remarks>
internal sealed class ParkingPolicy
{
    /// <summary>An agent lost for longer is probably gone, and tries so seldom that waiting for it is in vain.</summary>
    public static readonly TimeSpan ReturnWindow = TimeSpan.FromMinutes(1);

    /// <summary>After a start agents are still coming back.</summary>
    public static readonly TimeSpan StartPhase = TimeSpan.FromSeconds(30);

    private readonly ISessionDirectory _directory;
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _limit;
    private readonly long _started;

    public ParkingPolicy(ProxyEntrySettings settings, ISessionDirectory directory, TimeProvider timeProvider)
    {
        _directory = directory;
        _timeProvider = timeProvider;
        _limit = settings.ParkTimeout;
        _started = timeProvider.GetTimestamp();
    }

    /// <summary>Until when a request that has just found the name absent should wait.</summary>
    /// <param name="name">The name in lower case; one that counts as known.</param>
    /// <param name="deadline">A timestamp of the clock.</param>
    /// <param name="owner">Whose session it should wait for; null where nobody's is known.</param>
    /// <returns>False when it should not.</returns>
    public bool TryGetDeadline(ReadOnlySpan<char> name, out long deadline, out AgentIdentity? owner)
    {
        owner = null;
        var now = _timeProvider.GetTimestamp();
        deadline = now + Ticks(_limit);
        if (_limit == TimeSpan.Zero)
        {
            return false;
        }

        var absence = _directory.GetAbsence(name);
        owner = absence.Owner;
        switch (absence.Kind)
        {
            case AbsenceKind.SaidGoodbye:
                deadline = absence.Since + Ticks(_limit);
                return deadline > now;
            case AbsenceKind.Lost:
                return _timeProvider.GetElapsedTime(absence.Since, now) < ReturnWindow;
            default:
                return _timeProvider.GetElapsedTime(_started, now) < StartPhase;
        }
    }

    private long Ticks(TimeSpan time) => (long)(time.TotalSeconds * _timeProvider.TimestampFrequency);
}
