using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>A time without a listener, on the clock of the <see cref="SteadyVisitors"/>.</summary>
/// <param name="Began">Before the process was asked to stop.</param>
/// <param name="Exited">When it was known to be gone: every connection it had has ended by then.</param>
/// <param name="Over">When its successor was known to listen.</param>
internal sealed record Outage(TimeSpan Began, TimeSpan Exited, TimeSpan Over)
{
    /// <summary>
    /// Whether it explains that a request was not accepted: one is refused only while no process listens, and crosses the end of an idle
    /// connection only while the process that had it stops. What an attempt met lies between its beginning and its end, however late either
    /// was noticed.
    /// </summary>
    public bool Explains(SteadyResult result) => result.Problem switch
    {
        SteadyResult.Refused => result.Tried <= Over && result.Ended >= Began,
        SteadyResult.Crossed => result.Tried <= Exited && result.Ended >= Began,
        _ => false,
    };
}
