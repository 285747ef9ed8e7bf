using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/bytes/N</c> and <c>/hash/N</c>.</summary>
internal static class BytesEndpoint
{
    /// <summary>How much is handed to Kestrel at once: enough to keep a socket busy, little enough to notice an abort soon.</summary>
    private const int PieceLength = 256 * 1024;

    private const int CachedHashes = 256;

    private static readonly StringValues _octets = "application/octet-stream";
    private static readonly StringValues _acceptRanges = "bytes";

    /// <summary>The bytes of one address never change, so that one tag serves for all.</summary>
    private static readonly StringValues _entityTag = "\"tunnel2-pattern-1\"";

    private static readonly EntityTagHeaderValue _parsedTag = EntityTagHeaderValue.Parse(_entityTag.ToString());
    private static readonly ConcurrentDictionary<long, string> _hashes = new();

    public static Task SendAsync(HttpContext context, long length)
    {
        var request = context.Request;
        var response = context.Response;
        var headers = response.Headers;
        headers.ContentType = _octets;
        headers.ETag = _entityTag;
        headers.AcceptRanges = _acceptRanges;

        long start = 0;
        var count = length;
        if (MatchesTag(request.Headers.IfNoneMatch))
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            return Task.CompletedTask;
        }

        if (request.Headers.Range is { Count: > 0 } range && TryGetSingleRange(request, range, out var item))
        {
            (start, count) = Resolve(item, length);
            if (count <= 0)
            {
                response.StatusCode = StatusCodes.Status416RangeNotSatisfiable;
                headers.ContentRange = string.Create(CultureInfo.InvariantCulture, $"bytes */{length}");
                response.ContentLength = 0;
                return Task.CompletedTask;
            }

            response.StatusCode = StatusCodes.Status206PartialContent;
            headers.ContentRange = string.Create(CultureInfo.InvariantCulture, $"bytes {start}-{start + count - 1}/{length}");
        }

        response.ContentLength = count;
        if (HttpMethods.IsHead(request.Method))
        {
            return Task.CompletedTask;
        }

        if (count <= PieceLength)
        {
            // Kestrel flushes head and body together when the handler returns.
            var write = response.BodyWriter.WriteAsync(PatternBytes.Window(start, count), CancellationToken.None);
            return write.IsCompletedSuccessfully ? Task.CompletedTask : write.AsTask();
        }

        return SendLongAsync(context, start, count);
    }

    public static async Task SendHashAsync(HttpContext context, long length)
    {
        if (!_hashes.TryGetValue(length, out var hash))
        {
            var aborted = context.RequestAborted;
            // Off the engine thread: a gigabyte takes most of a second.
            hash = await Task.Run(() => PatternBytes.Sha256Hex(length, aborted), aborted);
            if (_hashes.Count < CachedHashes)
            {
                _hashes[length] = hash;
            }
        }

        await BackendHandler.AnswerAsync(context, StatusCodes.Status200OK, "text/plain", Encoding.ASCII.GetBytes(hash));
    }

    private static async Task SendLongAsync(HttpContext context, long start, long count)
    {
        context.Features.Get<IHttpResponseBodyFeature>()?.DisableBuffering();
        var writer = context.Response.BodyWriter;
        var end = start + count;
        while (start < end)
        {
            var piece = PatternBytes.Window(start, Math.Min(PieceLength, end - start));
            var result = await writer.WriteAsync(piece, CancellationToken.None);
            if (result.IsCompleted || result.IsCanceled)
            {
                return;
            }

            start += piece.Length;
        }
    }

    private static bool MatchesTag(StringValues ifNoneMatch) =>
        ifNoneMatch.Count > 0
        && EntityTagHeaderValue.TryParseList([.. ifNoneMatch.OfType<string>()], out var tags)
        && tags.Any(tag => tag == EntityTagHeaderValue.Any || tag.Compare(_parsedTag, useStrongComparison: false));

    /// <summary>
    /// False for several ranges (RFC 9110 section 14.2 allows to send the whole instead), for what is no range of bytes, and where
    /// If-Range names another version.
    /// </summary>
    private static bool TryGetSingleRange(
        HttpRequest request, StringValues value, [NotNullWhen(true)] out RangeItemHeaderValue? item)
    {
        item = null;
        if (!RangeHeaderValue.TryParse(value.ToString(), out var range) || range.Unit != "bytes" || range.Ranges.Count != 1)
        {
            return false;
        }

        if (request.Headers.IfRange is { Count: > 0 } ifRange && ifRange != _entityTag)
        {
            return false;
        }

        item = range.Ranges.First();
        return item is not null;
    }

    private static (long Start, long Count) Resolve(RangeItemHeaderValue item, long length)
    {
        if (item.From is not { } from)
        {
            var suffix = Math.Min(item.To.GetValueOrDefault(), length);
            return (length - suffix, suffix);
        }

        var last = Math.Min(item.To ?? long.MaxValue, length - 1);
        return (from, last - from + 1);
    }
}
