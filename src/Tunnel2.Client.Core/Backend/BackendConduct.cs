namespace Tunnel2.Client.Core.Backend;

/// <summary>When a connection may be used again.</summary>
internal enum Reuse
{
    /// <summary>Never: it ends with its response.</summary>
    Never = 0,

    /// <summary>When nothing has come on it for <see cref="BackendConduct.Rest"/>.</summary>
    AfterRest,

    /// <summary>At once.</summary>
    AtOnce,
}

/// <summary>
/// What is known of a backend's way to end its responses. Bytes that it sends after one would be the next visitor's answer, and when the
/// next request has been sent nothing distinguishes the two: no check closes that gap, only time does. So a connection rests before it is
/// used again, until the backend has shown often enough that nothing comes; and one that was caught sending gets a new connection for each
/// request. Thread-safe.
/// </summary>
internal sealed class BackendConduct
{
    /// <summary>As often a rest has to pass without a byte, for each kind of response, before rests are over.</summary>
    public const int ProofsNeeded = 512;

    /// <summary>How long a connection rests.</summary>
    public static readonly TimeSpan Rest = TimeSpan.FromMilliseconds(250);

    /// <summary>Bytes that come later than this are no part of a response: a backend says goodbye to an idle connection (408).</summary>
    public static readonly TimeSpan LatestSurplus = TimeSpan.FromSeconds(2);

    /// <summary>How long a backend that was caught gets a new connection for each request.</summary>
    public static readonly TimeSpan Penalty = TimeSpan.FromMinutes(10);

    /// <summary>
    /// How long one is suspected for the first time; then twice as long each time. Where the bytes of a suspicion are those of an earlier
    /// response, no visitor got them, and rests catch the next ones.
    /// </summary>
    public static readonly TimeSpan FirstSuspicion = TimeSpan.FromSeconds(5);

    private readonly TimeProvider _timeProvider;
    private readonly int _initialProofs;
    private readonly int[] _proofs = new int[ResponseKinds.Count];
    private readonly long[] _caughtAt = new long[ResponseKinds.Count];
    private readonly long[] _penalties = new long[ResponseKinds.Count];

    /// <summary>Knows nothing yet.</summary>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="isTrusted">Whether rests are over from the start, until something comes.</param>
    public BackendConduct(TimeProvider timeProvider, bool isTrusted)
    {
        _timeProvider = timeProvider;
        _initialProofs = isTrusted ? ProofsNeeded : 0;
        Forget();
    }

    /// <summary>When a connection may be used again that has just carried a response of this kind.</summary>
    public Reuse After(ResponseKind kind, long now)
    {
        if (Volatile.Read(ref _proofs[(int)kind]) >= ProofsNeeded)
        {
            return Reuse.AtOnce;
        }

        return LeftOf((int)kind, now) > TimeSpan.Zero ? Reuse.Never : Reuse.AfterRest;
    }

    /// <summary>A rest after a response of this kind has passed without a byte. Enough of them end what is remembered against it.</summary>
    public void Passed(ResponseKind kind)
    {
        ref var proofs = ref _proofs[(int)kind];
        if (Volatile.Read(ref proofs) < ProofsNeeded && Interlocked.Increment(ref proofs) == ProofsNeeded)
        {
            Volatile.Write(ref _penalties[(int)kind], 0);
        }
    }

    /// <summary>
    /// Bytes came after a response of this kind. Where its kind was beyond doubt, their owner is unknown: all kinds are in
    /// doubt then.
    /// </summary>
    /// <returns>Whether that is news.</returns>
    public bool Caught(ResponseKind kind, long now) => Doubt(kind, now, Penalty);

    /// <summary>
    /// Bytes that are no response came in place of one, after a response of this kind: they may be the backend's answer to that one
    /// request, and any visitor may be able to send it again.
    /// </summary>
    /// <returns>Whether that is news.</returns>
    public bool Suspected(ResponseKind kind, long now)
    {
        var last = new TimeSpan(Volatile.Read(ref _penalties[(int)kind]));
        return Doubt(kind, now, last == TimeSpan.Zero ? FirstSuspicion : last * 2 < Penalty ? last * 2 : Penalty);
    }

    /// <summary>It is another backend, for all we know: the one before is gone.</summary>
    public void Forget()
    {
        for (var i = 0; i < ResponseKinds.Count; i++)
        {
            Volatile.Write(ref _caughtAt[i], 0);
            Volatile.Write(ref _penalties[i], 0);
            Volatile.Write(ref _proofs[i], _initialProofs);
        }
    }

    private bool Doubt(ResponseKind kind, long now, TimeSpan penalty)
    {
        var isNews = After(kind, now) != Reuse.Never;
        var all = Volatile.Read(ref _proofs[(int)kind]) >= ProofsNeeded;
        for (var i = 0; i < ResponseKinds.Count; i++)
        {
            if (!all && i != (int)kind)
            {
                continue;
            }

            if (LeftOf(i, now) < penalty)
            {
                Volatile.Write(ref _penalties[i], penalty.Ticks);
                Volatile.Write(ref _caughtAt[i], Math.Max(1, now));
            }

            Volatile.Write(ref _proofs[i], 0);
        }

        return isNews;
    }

    /// <summary>What is left of a kind's penalty; zero or less: nothing.</summary>
    private TimeSpan LeftOf(int kind, long now) => Volatile.Read(ref _caughtAt[kind]) is var caughtAt and not 0
        ? new TimeSpan(Volatile.Read(ref _penalties[kind])) - _timeProvider.GetElapsedTime(caughtAt, now)
        : TimeSpan.Zero;
}
