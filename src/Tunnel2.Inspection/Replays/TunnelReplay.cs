using Tunnel2.Http1;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Replays;

/// <summary>
/// Sends a replay as a visitor's request, and finds the exchange that it becomes when it comes back through the tunnel.
/// </summary>
internal static class TunnelReplay
{
    private const string Via = "tunnel";

    /// <summary>How long after the answer its exchange may take to be over.</summary>
    private static readonly TimeSpan _settling = TimeSpan.FromSeconds(5);

    /// <summary>Sends it and waits for the whole answer.</summary>
    /// <param name="store">Keeps the exchanges of the session.</param>
    /// <param name="connection">A connection to the public listener.</param>
    /// <param name="request">The request.</param>
    /// <param name="url">The public URL.</param>
    /// <param name="time">The clock.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task<ReplayResult> RunAsync(
        ExchangeStore store, Stream connection, ReplayRequest request, Uri url, TimeProvider time, CancellationToken cancellationToken)
    {
        if (request.HasOtherHost && !PublicUrl.AreOfOneHost(request.Authority, url.Authority))
        {
            return new ReplayResult(Via, null, null, $"The tunnel is called {url.Host}: another Host would lead elsewhere.");
        }

        if (ReplayMessage.ForVisitor(request, url) is not { } bytes)
        {
            return new ReplayResult(Via, null, null, "The request is not HTTP.");
        }

        var expectation = new ReplayExpectation(request.Source, request.Method, request.Target);
        store.Expect(expectation);
        try
        {
            var exchange = new ReplayExchange(store.Limits.BodyBytes, null);
            var error = await exchange.RunAsync(connection, bytes, KnownMethods.Classify(request.Method), cancellationToken)
                .ConfigureAwait(false);
            if (expectation.IsTaken)
            {
                Task settled = expectation.Ended.WaitAsync(_settling, time, cancellationToken);
                await settled.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                if (expectation.Ended.IsCompletedSuccessfully)
                {
                    return new ReplayResult(Via, null, await expectation.Ended.ConfigureAwait(false), error);
                }
            }

            // The server answered it by itself, or another agent did: then this is all there is to see.
            return Recorded(store, request, exchange, error);
        }
        finally
        {
            store.Forget(expectation);
        }
    }

    private static ReplayResult Recorded(ExchangeStore store, ReplayRequest request, ReplayExchange exchange, string? error)
    {
        if (!exchange.IsAnswered || store.Begin(ReplayMessage.BlockOf(request)) is not { } capture)
        {
            return new ReplayResult(Via, null, null, error is null ? "No answer came." : $"It failed: {error}.");
        }

        capture.ReplayOf = request.Source;
        capture.Via = Via;
        capture.OnRequestBody(request.Body);
        capture.OnRequestTrailers(TrailerBlock.Of(request.Trailers));
        capture.OnRequestEnded();
        exchange.Record(capture);
        capture.OnEnded(error is null ? null : "visitor", error);
        return new ReplayResult(Via, "the server answered it without this session", capture, error);
    }
}
