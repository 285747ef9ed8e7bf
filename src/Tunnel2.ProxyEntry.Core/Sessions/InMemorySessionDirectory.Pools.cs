namespace Tunnel2.ProxyEntry.Sessions;

/// <content>Names that several sessions share. All of it with the gate held.</content>
internal sealed partial class InMemorySessionDirectory
{
    /// <summary>A session joins the pool of its name, or may not have the name because of a pool.</summary>
    /// <returns>Null where neither is so: then it takes the name as any session does.</returns>
    private RegistrationResult? JoinUnsynchronized(EntrySession session, Entry? present)
    {
        if (FindPlaceUnsynchronized(session, present, out var pool) is { } refusal)
        {
            return refusal;
        }

        if (pool is null)
        {
            return null;
        }

        var member = session.Member!;
        var older = pool.FindInstance(session.Instance);
        var epoch = ++_epoch;
        member.Join(pool, session, epoch);
        pool.AddUnsynchronized(member, older);
        _count += older is null ? 1 : 0;
        RefreshUnsynchronized(session.Name, pool);

        // One that said goodbye, as when it is drained, finishes what it has in its own time, beside its successor.
        return new RegistrationResult(RegistrationStatus.Registered, epoch, older is { SaidGoodbye: false } ? older.Session : null);
    }

    /// <summary>Why a session may not have the name because of a pool, or because it wants one; null: it may.</summary>
    /// <param name="session">The session.</param>
    /// <param name="present">What is known of its name.</param>
    /// <param name="joined">The pool that it joins; null: it takes the name as any session does.</param>
    private RegistrationResult? FindPlaceUnsynchronized(EntrySession session, Entry? present, out SessionPool? joined)
    {
        joined = null;
        if (present?.Session is null || present.Owner != session.Owner)
        {
            return null;
        }

        var isHeld = present is { SaidGoodbye: false, HandsOver: false };
        if (present.Pool is not { } pool || session.Member is null)
        {
            return present.Pool is null == session.Member is null || !isHeld ? null
                : NotPossible(PoolObstacles.OtherKind(session.Name, isPool: session.Member is null));
        }

        if (pool.FindObstacle(session) is { } obstacle)
        {
            // Where all members are about to stop, the owner has new rules: the session begins another pool.
            return isHeld ? NotPossible(obstacle) : null;
        }

        if (pool.FindInstance(session.Instance) is null && pool.Members.Count >= _mostMembers)
        {
            return new RegistrationResult(
                RegistrationStatus.PoolFull, 0, null, default,
                FormattableString.Invariant($"The pool has {_mostMembers} members, and may have no more."));
        }

        joined = pool;
        return null;
    }

    private static Entry BeginUnsynchronized(PoolMember member, EntrySession session, long epoch)
    {
        var pool = new SessionPool(session.Terms);
        member.Join(pool, session, epoch);
        pool.AddUnsynchronized(member, null);
        return new Entry(session, session.Owner, epoch, 0, false, true) { Pool = pool };
    }

    private PoolMember? FindMemberUnsynchronized(string name, long epoch) =>
        _entries.TryGetValue(name, out var entry) ? entry.Pool?.Find(epoch) : null;

    /// <summary>The entry says of the name what is true of its pool: it is left when the last member is about to leave.</summary>
    private void RefreshUnsynchronized(string name, SessionPool pool)
    {
        var before = _entries[name];
        var speaker = pool.Speaker;
        var isLeft = speaker.SaidGoodbye;
        _entries[name] = before with
        {
            Session = speaker.Session,
            Epoch = speaker.Epoch,
            LeftAt = !isLeft ? 0 : before.SaidGoodbye ? before.LeftAt : _timeProvider.GetTimestamp(),
            SaidGoodbye = isLeft,
            HandsOver = !isLeft && pool.Members.All(static member => member.SaidGoodbye || member.HandsOver),
        };
    }

    private static RegistrationResult NotPossible(string obstacle) =>
        new(RegistrationStatus.PoolNotPossible, 0, null, default, obstacle);
}
