using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Parking;

/// <summary>Decides whether a request for an absent name should wait, from what is known about its agent. Thread-safe.</summary>
/// <remarks>
/// | the agent | a request waits |
/// |---|---|
/// | was lost without a goodbye less than a minute ago | up to the limit: it is connecting again |
/// | said goodbye | until the limit has passed since the goodbye: a restart is over by then, and a final stop looks the same |
/// | was never here, and ProxyEntry has just started | up to the limit: it was connected to the process before |
/// | was at another node of the cluster, and is at none | while the cluster expects it back, up to the limit |
/// | serves elsewhere in the cluster, at a node that is not reached, or is just registering here | up to the limit |
/// | may be anywhere: the cluster cannot be asked | for two seconds: a short trouble of its database is over by then |
/// | everything else | not at all |
/// </remarks>
internal sealed class ParkingPolicy
{
    /// <summary>An agent that was lost earlier is probably gone, and tries too seldom for a wait to help.</summary>
    public static readonly TimeSpan ReturnWindow = TimeSpan.FromMinutes(1);

    /// <summary>Agents connect again in this time after a start.</summary>
    public static readonly TimeSpan StartPhase = TimeSpan.FromSeconds(30);

    /// <summary>How long a request waits for an answer of the cluster.</summary>
    public static readonly TimeSpan AnswerWait = TimeSpan.FromSeconds(2);

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

    /// <summary>Until when a request should wait that has just found the name absent.</summary>
    /// <param name="name">The name in lower case; a name that counts as known.</param>
    /// <param name="isInCluster">Whether the cluster has a session of the name, which this node cannot use now.</param>
    /// <param name="awaitedFor">How much longer the cluster expects its agent back; null: it does not say.</param>
    /// <param name="deadline">A timestamp of the clock.</param>
    /// <param name="owner">The owner whose session it should wait for; null when no owner is known.</param>
    /// <returns>False when it should not wait.</returns>
    public bool TryGetDeadline(
        ReadOnlySpan<char> name, bool isInCluster, TimeSpan? awaitedFor, out long deadline, out AgentIdentity? owner)
    {
        owner = null;
        var now = _timeProvider.GetTimestamp();
        deadline = now + Ticks(_limit);
        if (_limit == TimeSpan.Zero)
        {
            return false;
        }

        if (isInCluster)
        {
            // What this node knows of the agent is from before it went to another one.
            return true;
        }

        var absence = _directory.GetAbsence(name);
        owner = absence.Owner;
        if (Waits(absence, now, ref deadline))
        {
            return true;
        }

        if (awaitedFor is not { } rest || rest <= TimeSpan.Zero)
        {
            return false;
        }

        // It was at another node since.
        owner = null;
        deadline = now + Ticks(rest < _limit ? rest : _limit);
        return true;
    }

    /// <summary>What follows from what this node knows itself.</summary>
    private bool Waits(in NameAbsence absence, long now, ref long deadline)
    {
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
