using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// What still comes of a request's body after the answer. Kestrel resets a stream of HTTP/2 whose request is not at its end (RST_STREAM
/// with NO_ERROR, RFC 9113 section 8.1), and clients that still send, curl 7.88 among them, then show an error in place of the answer.
/// </summary>
internal static class UnreadBody
{
    /// <summary>How many bytes are dropped; a stream with more gets the reset.</summary>
    private const int Most = 64 * 1024;

    /// <summary>How long the end may take.</summary>
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(1);

    /// <summary>Drops the rest of the body, up to the limits. For a request whose body was read to its end this does nothing.</summary>
    public static ValueTask DropAsync(VisitorExchange exchange, TimeProvider timeProvider)
    {
        if (!exchange.HasBody)
        {
            return default;
        }

        var body = exchange.RequestBody;
        if (body.TryRead(out var read))
        {
            body.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return default;
            }
        }

        return DropMoreAsync(exchange, timeProvider);
    }

    private static async ValueTask DropMoreAsync(VisitorExchange exchange, TimeProvider timeProvider)
    {
        using var limit = new CancellationTokenSource(_limit, timeProvider);
        using var stop = limit.Token.UnsafeRegister(static exchange => ((VisitorExchange)exchange!).StopReadingBody(), exchange);
        for (long dropped = 0; dropped < Most && !limit.IsCancellationRequested;)
        {
            var read = await exchange.RequestBody.ReadAsync().ConfigureAwait(false);
            dropped += read.Buffer.Length;
            exchange.RequestBody.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return;
            }
        }
    }
}
