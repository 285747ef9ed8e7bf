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

    private readonly TimeProvider _timeProvider;
    private readonly int _initialProofs;
    private readonly int[] _proofs = new int[ResponseKinds.Count];
    private readonly long[] _caughtAt = new long[ResponseKinds.Count];

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

        var caughtAt = Volatile.Read(ref _caughtAt[(int)kind]);
        return caughtAt != 0 && _timeProvider.GetElapsedTime(caughtAt, now) < Penalty ? Reuse.Never : Reuse.AfterRest;
    }

    /// <summary>A rest after a response of this kind has passed without a byte.</summary>
    public void Passed(ResponseKind kind)
    {
        ref var proofs = ref _proofs[(int)kind];
        if (Volatile.Read(ref proofs) < ProofsNeeded)
        {
            Interlocked.Increment(ref proofs);
        }
    }

    /// <summary>
    /// Bytes came after a response of this kind. Where its kind was beyond doubt, their owner is unknown: all kinds are in
    /// doubt then.
    /// </summary>
    /// <returns>Whether that is news.</returns>
    public bool Caught(ResponseKind kind, long now)
    {
        var isNews = After(kind, now) != Reuse.Never;
        var all = Volatile.Read(ref _proofs[(int)kind]) >= ProofsNeeded;
        for (var i = 0; i < ResponseKinds.Count; i++)
        {
            if (all || i == (int)kind)
            {
                Volatile.Write(ref _caughtAt[i], Math.Max(1, now));
                Volatile.Write(ref _proofs[i], 0);
            }
        }

        return isNews;
    }

    /// <summary>It is another backend, for all we know: the one before is gone.</summary>
    public void Forget()
    {
        for (var i = 0; i < ResponseKinds.Count; i++)
        {
            Volatile.Write(ref _caughtAt[i], 0);
            Volatile.Write(ref _proofs[i], _initialProofs);
        }
    }
}
