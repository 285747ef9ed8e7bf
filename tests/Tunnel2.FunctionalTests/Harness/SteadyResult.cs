namespace Tunnel2.FunctionalTests.Harness;

/// <summary>How a request of steady visitors ended.</summary>
/// <param name="Started">When it was due, since the beginning.</param>
/// <param name="Tried">
/// When it began to look for the connection that it used: the last moment at which that one may have been known to be open.
/// </param>
/// <param name="Ended">When its answer was whole, or its problem known.</param>
/// <param name="Problem">Null when it was answered whole; "refused" when no process listened; else what was wrong.</param>
internal sealed record SteadyResult(TimeSpan Started, TimeSpan Tried, TimeSpan Ended, string? Problem)
{
    /// <summary>What a request that no listener took is called: no process accepted it.</summary>
    public const string Refused = "refused";

    /// <summary>
    /// What a request is called that met the server's end of an idle connection half-way: it was not accepted, and every client sends it
    /// again (RFC 9112 section 9.3.1).
    /// </summary>
    public const string Crossed = "crossed";

    /// <summary>From when it was due until its end.</summary>
    public TimeSpan Took => Ended - Started;

    /// <summary>Whether it was under way at a moment, or began right after it: what was cut then was not seen to be cut yet.</summary>
    /// <param name="moment">The moment of a cut.</param>
    /// <param name="late">How much later a busy machine may see it.</param>
    public bool WasUnderWayAt(TimeSpan moment, TimeSpan late) =>
        Ended >= moment && Started <= moment + TimeSpan.FromMilliseconds(100) + late;
}
