using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using Tunnel2.Http1;
using Tunnel2.Inspection.Serving;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>One connection to the inspector: HTTP/1.1, one request after another, each within limits of bytes and time.</summary>
internal sealed class InspectorConnection
{
    private const int MaxHead = 16 * 1024;
    private static readonly Http1Limits _limits = new() { MaxHeadBytes = MaxHead, MaxFields = 100, MaxRequestLineBytes = 8 * 1024 };
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(30);

    /// <summary>A replay and a wait for changes are shorter.</summary>
    private static readonly TimeSpan _longestAnswer = TimeSpan.FromSeconds(120);

    private readonly InspectorApi _api;
    private readonly RequestGuard _guard;
    private readonly InspectorAccess? _access;
    private readonly TimeProvider _time;
    private readonly RequestHeadParser _parser = new(_limits);
    private readonly byte[] _buffer = new byte[MaxHead];
    private readonly IPAddress _from;
    private readonly Stream _connection;
    private Task<int>? _ahead;
    private int _filled;
    private long _since;
    private volatile bool _isAnswering;

    /// <param name="connection">The connection.</param>
    /// <param name="from">Who called.</param>
    /// <param name="api">Answers.</param>
    /// <param name="guard">Says what a browser may have sent.</param>
    /// <param name="access">Says who may call; null: everybody on this machine.</param>
    /// <param name="time">The clock.</param>
    public InspectorConnection(
        Stream connection, IPAddress from, InspectorApi api, RequestGuard guard, InspectorAccess? access, TimeProvider time)
    {
        _connection = connection;
        _from = from;
        _api = api;
        _guard = guard;
        _access = access;
        _time = time;
        _since = time.GetTimestamp();
    }

    /// <summary>Whether it makes or sends an answer; otherwise it waits for its caller. From any thread.</summary>
    public bool IsAnswering => _isAnswering;

    /// <summary>When that began, as a timestamp of the clock. From any thread.</summary>
    public long Since => Volatile.Read(ref _since);

    /// <summary>Serves until the caller ends, breaks HTTP or takes too long.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        using var gone = new CancellationTokenSource();
        using var end = CancellationTokenSource.CreateLinkedTokenSource(stop);
        try
        {
            while (await ServeOneAsync(gone, end.Token).ConfigureAwait(false))
            {
            }
        }
        catch (Exception exception)
            when (exception is IOException or OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // The caller has gone, was too slow, or the agent ends.
        }
        finally
        {
            if (_ahead is { } ahead)
            {
                await end.CancelAsync().ConfigureAwait(false);
                await ahead.ConfigureAwait(false);
            }
        }
    }

    private async Task<bool> ServeOneAsync(CancellationTokenSource gone, CancellationToken stop)
    {
        _parser.Reset();
        int consumed;
        using (var limit = new CancellationTokenSource(_patience, _time))
        using (var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop))
        {
            while (true)
            {
                var status = _filled == 0 ? ParseStatus.NeedMore : Parse(out consumed);
                if (status == ParseStatus.Done)
                {
                    Parse(out consumed);
                    break;
                }

                if (status == ParseStatus.Invalid || _filled == _buffer.Length)
                {
                    var refusal = InspectorResponse.Text(400, "This is not a request.\n");
                    await WriteAsync(refusal, _parser.KnownMethod == KnownMethod.Head, keeps: false, either.Token).ConfigureAwait(false);
                    return false;
                }

                var received = await ReceiveAsync(either.Token).ConfigureAwait(false);
                if (received == 0)
                {
                    return false;
                }

                _filled += received;
            }
        }

        using var longest = new CancellationTokenSource(_longestAnswer, _time);
        using var whole = CancellationTokenSource.CreateLinkedTokenSource(longest.Token, stop);
        var call = Call.Read(_parser, _buffer);
        var (body, tooMuch) = await ReadBodyAsync(consumed, whole.Token).ConfigureAwait(false);
        var keeps = _parser.KeepAlive && tooMuch is null;
        SetAnswering(true);
        _ahead = _filled == 0 && tooMuch is null ? ReadAheadAsync(gone, stop) : null;
        var response = tooMuch ?? await AnswerAsync(call with { Body = body }, gone.Token, whole.Token).ConfigureAwait(false);
        await WriteAsync(response, call.IsHead, keeps, whole.Token).ConfigureAwait(false);
        SetAnswering(false);
        return keeps;
    }

    private void SetAnswering(bool value)
    {
        Volatile.Write(ref _since, _time.GetTimestamp());
        _isAnswering = value;
    }

    /// <summary>The next bytes: those that came while the last answer was made, if any.</summary>
    private async ValueTask<int> ReceiveAsync(CancellationToken cancellationToken)
    {
        if (_ahead is not { } ahead)
        {
            return await _connection.ReadAsync(_buffer.AsMemory(_filled), cancellationToken).ConfigureAwait(false);
        }

        var received = await ahead.WaitAsync(cancellationToken).ConfigureAwait(false);
        _ahead = null;
        return received;
    }

    /// <summary>
    /// Reads while an answer is made, into the buffer that is empty then: a caller that goes is noticed, and what it waits for ends.
    /// Otherwise the page's waits of a while ago would take the connections that there are. Does not throw.
    /// </summary>
    private async Task<int> ReadAheadAsync(CancellationTokenSource gone, CancellationToken stop)
    {
        var received = 0;
        try
        {
            received = await _connection.ReadAsync(_buffer, stop).ConfigureAwait(false);
        }
        catch (Exception exception)
            when (exception is IOException or OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // As if the caller had ended it.
        }

        if (received == 0)
        {
            await gone.CancelAsync().ConfigureAwait(false);
        }

        return received;
    }

    private ParseStatus Parse(out int consumed) => _parser.Parse(_buffer.AsSpan(0, _filled), out consumed);

    /// <summary>Reads the body, and leaves what follows in the buffer.</summary>
    private async Task<(byte[] Body, InspectorResponse? Refusal)> ReadBodyAsync(int consumed, CancellationToken cancellationToken)
    {
        var length = _parser.BodyKind == BodyKind.Length ? _parser.ContentLength!.Value : 0;
        if (_parser.BodyKind == BodyKind.Chunked)
        {
            return ([], InspectorResponse.Text(411, "A body needs a Content-Length here.\n"));
        }

        if (length > InspectorApi.MaxRequestBody)
        {
            return ([], InspectorResponse.Text(413, "The body is too large.\n"));
        }

        // Only a body that a replay or a login may have is read into memory, and only as it comes.
        var body = new byte[length];
        var taken = (int)Math.Min(length, _filled - consumed);
        _buffer.AsSpan(consumed, taken).CopyTo(body);
        var rest = _filled - consumed - taken;
        _buffer.AsSpan(consumed + taken, rest).CopyTo(_buffer);
        _filled = rest;
        if (_parser.ExpectContinue && taken < length)
        {
            await _connection.WriteAsync("HTTP/1.1 100 Continue\r\n\r\n"u8.ToArray(), cancellationToken).ConfigureAwait(false);
        }

        await _connection.ReadExactlyAsync(body.AsMemory(taken), cancellationToken).ConfigureAwait(false);
        return (body, null);
    }

    private async Task<InspectorResponse> AnswerAsync(Call call, CancellationToken gone, CancellationToken cancellationToken)
    {
        var isPage = !call.Path.StartsWith("/api/", StringComparison.Ordinal);
        if (_guard.Check(call.Method, call.Host, call.Origin, call.FetchSite, isPage) is { } refusal)
        {
            return InspectorResponse.Text(403, refusal + "\n");
        }

        if (isPage)
        {
            return call.Method != "GET" ? InspectorResponse.Text(405, "Only GET and HEAD.\n")
                : PageFiles.Find(call.Path) ?? InspectorResponse.Text(404, "There is nothing here.\n");
        }

        if (_access is { } access)
        {
            if (call.Path == "/api/v1/login")
            {
                return call.Method == "POST" ? Login(access, call) : InspectorResponse.Text(405, "Only POST.\n");
            }

            if (!access.HasSession(call.Cookies) && Judge(access, call.Token) is { } denied)
            {
                return denied;
            }
        }

        try
        {
            var request = new InspectorRequest
            {
                Method = call.Method,
                Path = call.Path,
                Query = call.Query,
                ContentType = call.ContentType,
                Body = call.Body,
                Gone = gone,
            };
            return await _api.HandleAsync(request, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is not (OperationCanceledException or IOException))
        {
            // A fault of ours is this answer's, and the next request gets its own.
            return InspectorResponse.Error(500, "internal", $"A fault of tunnel2 itself ({exception.GetType().Name}).");
        }
    }

    private InspectorResponse Login(InspectorAccess access, Call call)
    {
        string? token = null;
        try
        {
            using var json = JsonDocument.Parse(call.Body, new JsonDocumentOptions { MaxDepth = 4 });
            token = json.RootElement.ValueKind == JsonValueKind.Object && json.RootElement.TryGetProperty("token", out var given)
                && given.ValueKind == JsonValueKind.String
                ? given.GetString()
                : null;
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            // It has no token.
        }

        return Judge(access, token) ?? new InspectorResponse
        {
            Status = 204,
            ContentType = "text/plain",
            Fields = [("Set-Cookie", $"{InspectorAccess.Cookie}={access.Open()}; Path=/; HttpOnly; SameSite=Strict; Max-Age=86400")],
        };
    }

    private InspectorResponse? Judge(InspectorAccess access, string? token) =>
        (token is null ? TokenVerdict.Wrong : access.Judge(_from, token)) switch
        {
            TokenVerdict.Right => null,
            TokenVerdict.TooMany => InspectorResponse.Error(429, "attempts", "Too many wrong tokens; wait a minute."),
            _ => InspectorResponse.Error(401, "token", "The token of the inspector is needed.") with
            {
                Fields = [("WWW-Authenticate", "Bearer realm=\"tunnel2 inspector\"")],
            },
        };

    private async Task WriteAsync(InspectorResponse response, bool isHead, bool keeps, CancellationToken cancellationToken)
    {
        var head = new StringBuilder(FormattableString.Invariant($"HTTP/1.1 {response.Status} {Phrase(response.Status)}\r\n"));
        foreach (var (name, value) in PageFiles.Fields.Concat(response.Fields))
        {
            head.Append(name).Append(": ").Append(value).Append("\r\n");
        }

        var isChunked = response.WriteAsync is not null && _parser.Version == Http1Version.Http11;
        keeps &= response.WriteAsync is null || isChunked;
        head.Append("Connection: ").Append(keeps ? "keep-alive" : "close").Append("\r\n");
        if (response.Status != 204)
        {
            head.Append("Content-Type: ").Append(response.ContentType).Append("\r\n");
            head.Append(response.WriteAsync is null
                ? FormattableString.Invariant($"Content-Length: {response.Body.Length}\r\n")
                : isChunked ? "Transfer-Encoding: chunked\r\n" : "");
        }

        // A caller that takes nothing for this long is one less.
        await _connection.WriteAsync(Encoding.Latin1.GetBytes(head.Append("\r\n").ToString()), cancellationToken).ConfigureAwait(false);
        if (isHead)
        {
            return;
        }

        if (response.WriteAsync is not { } write)
        {
            await _connection.WriteAsync(response.Body, cancellationToken).ConfigureAwait(false);
        }
        else if (isChunked)
        {
            await using var chunks = new ChunkedOutput(_connection);
            await write(chunks, cancellationToken).ConfigureAwait(false);
            await chunks.EndAsync(cancellationToken).ConfigureAwait(false);
        }
        else
        {
            await write(_connection, cancellationToken).ConfigureAwait(false);
        }
    }

    private static string Phrase(int status) => status switch
    {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        _ => "Internal Server Error",
    };

    /// <summary>What matters of a request's head.</summary>
    private sealed record Call(string Method, bool IsHead, string Path, string Query)
    {
        public string? Host { get; private init; }

        public string? Origin { get; private init; }

        public string? FetchSite { get; private init; }

        public string? Cookies { get; private init; }

        public string? Token { get; private init; }

        public string ContentType { get; private init; } = "";

        public ReadOnlyMemory<byte> Body { get; init; }

        public static Call Read(RequestHeadParser parser, ReadOnlySpan<byte> buffer)
        {
            var method = Encoding.ASCII.GetString(parser.Method.Of(buffer));
            var target = Encoding.Latin1.GetString(parser.PathAndQuery.Of(buffer));
            var query = target.IndexOf('?', StringComparison.Ordinal);
            var path = query < 0 ? target : target[..query];
            var authorization = Find(parser, buffer, "Authorization"u8);
            return new Call(method == "HEAD" ? "GET" : method, method == "HEAD", path, query < 0 ? "" : target[(query + 1)..])
            {
                Host = parser.HostCount == 1 ? Encoding.Latin1.GetString(parser.Host.Of(buffer)) : null,
                Origin = Find(parser, buffer, "Origin"u8),
                FetchSite = Find(parser, buffer, "Sec-Fetch-Site"u8),
                Cookies = Find(parser, buffer, "Cookie"u8),
                Token = authorization?.StartsWith("Bearer ", StringComparison.OrdinalIgnoreCase) == true ? authorization[7..].Trim() : null,
                ContentType = Find(parser, buffer, "Content-Type"u8) ?? "",
            };
        }

        /// <summary>The value of a field; where it came several times, the list of all (RFC 9110 section 5.3).</summary>
        private static string? Find(RequestHeadParser parser, ReadOnlySpan<byte> buffer, ReadOnlySpan<byte> name)
        {
            string? all = null;
            foreach (ref readonly var field in parser.Fields)
            {
                if (Ascii.EqualsIgnoreCase(field.Name(buffer), name))
                {
                    var value = Encoding.Latin1.GetString(field.Value(buffer));
                    all = all is null ? value : all + ", " + value;
                }
            }

            return all;
        }
    }
}
