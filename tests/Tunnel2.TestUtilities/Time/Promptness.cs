using System.Diagnostics;
using System.Globalization;

namespace Tunnel2.TestUtilities;

/// <summary>A time that is required, measured on a machine that has other things to do.</summary>
public static class Promptness
{
    private const int MostAttempts = 5;

    /// <summary>
    /// Measures until it was fast enough once, at most five times: what others do to the machine passes, and what is slow by itself is slow
    /// each time. Only the time is measured again: an attempt that fails otherwise fails the test at once.
    /// </summary>
    /// <param name="limit">The most that the fastest attempt may take.</param>
    /// <param name="attempt">
    /// Makes the attempt with a number (from 0) and ends when that which must be prompt has happened; gives the timestamp of
    /// <see cref="Stopwatch"/> from which it counts.
    /// </param>
    /// <exception cref="TimeoutException">Each attempt took longer.</exception>
    public static async Task AssertWithinAsync(TimeSpan limit, Func<int, Task<long>> attempt)
    {
        var took = new List<TimeSpan>();
        do
        {
            var since = await attempt(took.Count).ConfigureAwait(false);
            took.Add(Stopwatch.GetElapsedTime(since));
            if (took[^1] <= limit)
            {
                return;
            }
        }
        while (took.Count < MostAttempts);

        var all = string.Join(", ", took.Select(static time => time.TotalSeconds.ToString("0.000", CultureInfo.InvariantCulture)));
        throw new TimeoutException(
            string.Create(CultureInfo.InvariantCulture, $"Expected within {limit.TotalSeconds:0.###} s, took {all} s."));
    }
}
