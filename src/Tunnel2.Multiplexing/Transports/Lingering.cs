namespace Tunnel2.Multiplexing.Transports;

/// <summary>
/// The end of a connection whose last words have left. A close with bytes unread is a reset, which may destroy what the peer has not read
/// yet (RFC 9112 section 9.6 has the same care).
/// </summary>
internal static class Lingering
{
    /// <summary>How many bytes are dropped. A peer that sends more gets the reset.</summary>
    public const int Most = 64 * 1024;

    /// <summary>How long the peer may take to close.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(1);

    /// <summary>
    /// Reads and drops what the peer still sends, until it closes, up to the limits. Own sending has been shut down before, and no other
    /// receive runs. After the time the connection is aborted.
    /// </summary>
    public static async Task DropAsync(IByteTransport transport, TimeProvider timeProvider)
    {
        using var deadline = new CancellationTokenSource(Limit, timeProvider);
        using var registration = deadline.Token.UnsafeRegister(static state => ((IByteTransport)state!).Abort(), transport);
        var buffer = new byte[1024];
        var total = 0;
        try
        {
            int received;
            while (total < Most && (received = await transport.ReceiveAsync(buffer).ConfigureAwait(false)) > 0)
            {
                total += received;
            }
        }
        catch (IOException)
        {
            // The peer is gone, which is what this code waits for.
        }
    }
}
