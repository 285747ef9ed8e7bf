using Tunnel2.Client.Core.Ways;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Brings a session that had to go over WebSocket back to the uplink's own port: it tries that port at growing intervals, and when an
/// uplink is open there, the others finish what they carry. No request is lost, and the session stays the same.
/// </summary>
internal static class UplinkClimb
{
    /// <summary>Tries until it succeeds or the session is over.</summary>
    /// <param name="pool">The session's uplinks.</param>
    /// <param name="ways">Says when to try; it is the caller's to report the change.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="over">The session is over.</param>
    /// <returns>Whether the session is at the uplink's own port now.</returns>
    public static async Task<bool> RunAsync(UplinkPool pool, UplinkWays ways, TimeProvider timeProvider, CancellationToken over)
    {
        try
        {
            do
            {
                await Task.Delay(ways.NextClimb(), timeProvider, over).ConfigureAwait(false);
            }
            while (!await pool.TryReplaceAsync(over).ConfigureAwait(false));

            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}
