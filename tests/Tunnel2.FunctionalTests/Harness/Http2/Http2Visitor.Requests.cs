using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <content>Whole requests, one or very many.</content>
internal sealed partial class Http2Visitor
{
    private AsyncCounter? _flood;
    private TaskCompletionSource? _floodFailed;

    /// <summary>The fields of an ordinary request.</summary>
    public static (string Name, string Value)[] Request(
        bool isTls,
        string path = "/",
        string method = "GET",
        string authority = TunnelFixture.Host,
        params (string Name, string Value)[] fields) =>
        [(":method", method), (":scheme", isTls ? "https" : "http"), (":authority", authority), (":path", path), .. fields];

    /// <summary>
    /// Sends a whole request. Where the peer ends the connection in that time, what it said before is still there to be read.
    /// </summary>
    public async Task<Http2VisitorStream> SendAsync(
        IEnumerable<(string Name, string Value)> fields, string? body = null, IEnumerable<(string Name, string Value)>? trailers = null)
    {
        Http2VisitorStream? stream = null;
        try
        {
            stream = await OpenAsync(fields, end: body is null && trailers is null);
            if (body is not null)
            {
                await SendDataAsync(stream, Encoding.Latin1.GetBytes(body), end: trailers is null);
            }

            if (trailers is not null)
            {
                await SendTrailersAsync(stream, trailers);
            }
        }
        catch (IOException)
        {
            stream ??= Last();
        }

        return stream;
    }

    /// <summary>Sends a whole request and reads its answer.</summary>
    public async Task<Http2Answer> ExchangeAsync(
        IEnumerable<(string Name, string Value)> fields, string? body = null, IEnumerable<(string Name, string Value)>? trailers = null) =>
        await (await SendAsync(fields, body, trailers)).ReadWholeAsync();

    /// <summary>
    /// Sends a request again and again and waits for no answer, as long as no more are missing than the server takes streams at once.
    /// </summary>
    /// <param name="fields">The request.</param>
    /// <param name="count">How often.</param>
    /// <param name="answered">Counts the answers.</param>
    public async Task FloodAsync(IEnumerable<(string Name, string Value)> fields, int count, AsyncCounter answered)
    {
        const int AtOnce = 100;
        const int MostMissing = 1000;
        var block = PlainHpack.Encode(fields);
        int first;
        lock (_gate)
        {
            first = _nextId;
            _nextId += 2 * count;
            _floodFailed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _flood = answered;
        }

        // Credit for all that they answer, so that reading it needs no sending.
        await GrantAsync(0, 0x7F00_0000);
        for (var sent = 0; sent < count; sent += AtOnce)
        {
            await AnsweredAsync(sent + AtOnce - MostMissing);
            var batch = Enumerable.Range(sent, AtOnce).SelectMany(i => Frame(Headers, 5, first + (2 * i), block)).ToArray();
            await SendRawAsync(batch);
        }

        await AnsweredAsync(count);

        async Task AnsweredAsync(int number) =>
            await await Task.WhenAny(answered.WaitForAsync(number, TimeSpan.FromMinutes(2)), _floodFailed!.Task);
    }

    private Http2VisitorStream Last()
    {
        lock (_gate)
        {
            return _streams[_nextId - 2];
        }
    }

    /// <summary>Streams of a flood are those that no request owns.</summary>
    private void CountFlood(Http2VisitorStream? stream, bool isLast)
    {
        if (stream is null && isLast)
        {
            _flood?.Increment();
        }
    }

    private void FailFlood(Exception failure)
    {
        // A flood that is over looks at it no more.
        if (_floodFailed is { } failed && failed.TrySetException(failure))
        {
            _ = failed.Task.Exception;
        }
    }
}
