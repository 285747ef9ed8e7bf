using System.IO.Pipelines;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// The sessions that share a name. The directory changes the members, with its lock held; requests choose among them without one.
/// </summary>
internal sealed class SessionPool
{
    private volatile PoolMember[] _members = [];
    private int _turn;

    /// <summary>Begins a pool with what holds for its first member.</summary>
    public SessionPool(SessionTerms terms) => Terms = terms;

    /// <summary>What holds for the requests of all members.</summary>
    public SessionTerms Terms { get; }

    /// <summary>The members as they are now, in the order in which they joined.</summary>
    public IReadOnlyList<PoolMember> Members => _members;

    /// <summary>The member that speaks for the pool: the first that has not said goodbye, or the first of all.</summary>
    public PoolMember Speaker => Array.Find(_members, static member => !member.SaidGoodbye) ?? _members[0];

    /// <summary>Why a session cannot be a member, or null.</summary>
    /// <param name="session">The session, of the same owner.</param>
    public string? FindObstacle(EntrySession session)
    {
        var present = Speaker.Session;
        return present.Grant?.TokenName != session.Grant?.TokenName || (present.Grant is null) != (session.Grant is null)
            ? "The members of the pool have another token of the same agent; give all of them one token."
            : !AreSame(present, session)
            ? "The members of the pool have other access rules (logins, addresses, tokens, gate, policy, webhooks); give all of them the "
                + "same ones, a password as its hash."
            : present.Kind != session.Kind
            ? "The members of the pool have a tunnel of another kind; give all of them the same command."
            : present.Lease?.Port != session.Lease?.Port
            ? "The members of the pool have another port; give all of them the same --remote-port."
            : null;
    }

    /// <summary>The rules of a session's agent, which are the same for all members of a pool; empty: none.</summary>
    public static byte[] RulesOf(EntrySession session) => session.OwnRules is { IsEmpty: false } rules ? rules.ToBytes() : [];

    /// <summary>The member of a running agent; null: there is none.</summary>
    public PoolMember? FindInstance(AgentIdentity instance) => Array.Find(_members, member => member.Session.Instance == instance);

    /// <summary>The member of a registration; null: there is none.</summary>
    public PoolMember? Find(long epoch) => Array.Find(_members, member => member.Epoch == epoch);

    /// <summary>Whether a request that was tried at some members can be tried at another one.</summary>
    public bool HasOther(in PoolTries tried)
    {
        foreach (var member in _members)
        {
            if (!tried.Contains(member) && !member.SaidGoodbye && member.Session.Tunnel.ReadLoad(null, 0).IsOpen)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// How good the best member is that a request was not tried at, as for members at other nodes: 0 is the best, 2 is about to stop, 4
    /// has a service that does not work; <see cref="int.MaxValue"/>: there is none.
    /// </summary>
    public int BestRank(in PoolTries tried)
    {
        var members = _members;
        var now = members.Length == 0 ? 0 : members[0].Now;
        var best = int.MaxValue;
        foreach (var member in members)
        {
            if (!tried.Contains(member) && !member.SaidGoodbye && member.Session.Tunnel.ReadLoad(null, now) is { IsOpen: true } load)
            {
                best = Math.Min(
                    best, (member.IsHealthy && !member.IsPaused(now) && !load.IsStalled ? 0 : 4) + (member.HandsOver ? 2 : 0));
            }
        }

        return best;
    }

    /// <summary>Opens a stream at the member that is the best for a request.</summary>
    /// <param name="tried">Members that did nothing with the request; they are taken only when there is no other.</param>
    /// <param name="except">An uplink that has just refused or lost the request, or null.</param>
    /// <param name="home">The event loop of the caller, or null.</param>
    /// <param name="isSettled">Whether the caller has worked on that loop already.</param>
    /// <param name="session">The session of the stream.</param>
    /// <returns>Null when no member takes one.</returns>
    public TunnelStream? TryOpenStream(
        in PoolTries tried, UplinkStreams? except, PipeScheduler? home, bool isSettled, out EntrySession? session)
    {
        // Step 3, before the uplink: the member. One that takes no stream after all is passed over, and the next best is asked.
        var members = _members;
        var now = members.Length == 0 ? 0 : members[0].Now;
        var turn = (uint)Interlocked.Increment(ref _turn);
        var passedOver = 0UL;
        for (var i = 0; i < members.Length; i++)
        {
            var best = Choose(members, tried, passedOver, isSettled ? home : null, now, turn);
            if (best < 0)
            {
                break;
            }

            if (members[best].Session.Tunnel.TryOpenStream(except, home, isSettled) is { } stream)
            {
                session = members[best].Session;
                return stream;
            }

            passedOver |= 1UL << best;
        }

        session = null;
        return tried.Count == 0 ? null : TryOpenStream(default, except, home, isSettled, out session);
    }

    /// <summary>Adds a member, in place of an older one or at the end. The directory's lock is held.</summary>
    public void AddUnsynchronized(PoolMember member, PoolMember? replaced) =>
        _members = [.. _members.Where(other => other != replaced), member];

    /// <summary>Removes a member. The directory's lock is held.</summary>
    public void RemoveUnsynchronized(PoolMember member) => _members = [.. _members.Where(other => other != member)];

    /// <summary>
    /// The position of the best member; -1: there is none. Healthy ones come first, then those that hand over, then the unhealthy ones.
    /// Among equals, a member in its slow start takes part in some choices only; of those that take part, the one with the fewest open
    /// streams is the best, and with as many the next in turn.
    /// </summary>
    private static int Choose(
        PoolMember[] members, in PoolTries tried, ulong passedOver, PipeScheduler? home, long now, uint turn)
    {
        var best = new Candidate(-1, default, int.MaxValue);
        var near = best;
        for (var i = 0; i < members.Length; i++)
        {
            var position = (int)((turn + (uint)i) % (uint)members.Length);
            var member = members[position];
            if (((passedOver >> position) & 1) != 0 || member.SaidGoodbye || tried.Contains(member))
            {
                continue;
            }

            var load = member.Session.Tunnel.ReadLoad(home, now);
            if (!load.IsOpen)
            {
                continue;
            }

            var one = new Candidate(position, load, RankOf(member, load, turn, position, now));
            best = one.IsBetterThan(best) ? one : best;
            near = load.IsNear && one.IsBetterThan(near) ? one : near;
        }

        // A visitor's connection goes where its streams are, and that costs: so it stays, unless the other member is clearly better.
        return near.Position >= 0 && near.Rank == best.Rank && !near.Load.IsFarAbove(best.Load) ? near.Position : best.Position;
    }

    private static int RankOf(PoolMember member, in SessionLoad load, uint turn, int position, long now)
    {
        var rank = member.IsHealthy && !member.IsPaused(now) && !load.IsStalled ? 0 : 4;
        rank += member.HandsOver ? 2 : 0;

        // Another number in each choice and for each member, spread evenly.
        var lot = ((turn + ((uint)position * 0x85EB_CA6B)) * 0x9E37_79B9u) >> 16;
        return rank + (member.WeightAt(now) is < PoolMember.FullWeight and var weight && lot % PoolMember.FullWeight >= weight ? 1 : 0);
    }

    private static bool AreSame(EntrySession one, EntrySession other) => RulesOf(one).AsSpan().SequenceEqual(RulesOf(other));

    private readonly record struct Candidate(int Position, SessionLoad Load, int Rank)
    {
        public bool IsBetterThan(in Candidate other) => Rank != other.Rank ? Rank < other.Rank : Load.Streams < other.Load.Streams;
    }
}
