using System.Globalization;
using Microsoft.Extensions.Primitives;
using Tunnel2.TestBackend.Endpoints;

namespace Tunnel2.TestBackend;

/// <summary>The one handler: a switch over the first part of the path.</summary>
internal static class BackendHandler
{
    /// <summary>The paths, for a visitor of <c>/</c>.</summary>
    public const string Help =
        """
        /bytes/N                 N bytes that depend on their position alone; Range, ETag
        /hash/N                  SHA-256 of those bytes
        /echo                    the request body, as it comes
        /sink?hash=1             reads the body; JSON {bytes, sha256}
        /slow-sink?rate=R        the same at R bytes per second
        /upload                  multipart/form-data; JSON list of its parts
        /delay/MS                answers after MS milliseconds
        /gather/N?id=X&name=TEXT answers TEXT once N requests of that id are there; begins=1: "waiting" at once
        /stream/N/CHUNK/MS       N chunks of CHUNK bytes, MS milliseconds apart
        /sse?count=C&interval=MS server-sent events (C = 0: without end)
        /status/CODE?body=TEXT   that status
        /headers                 JSON [[name, value], ...] of the request, as received
        /set-headers?name=value  those response headers
        /trailers?name=value     those response trailers
        /expect?reject=1         413 (or 417 with reject=417) before the body is read
        /abort/N?length=M        N bytes, then a TCP reset
        /ws-echo                 WebSocket echo
        /upgrade/raw             upgrade to echo-raw: the raw bytes, both ways

        """;

    private static readonly StringValues _plainText = "text/plain; charset=utf-8";

    public static Task HandleAsync(HttpContext context)
    {
        var path = new PathParts(context.Request.Path.Value);
        switch (path.Next())
        {
            case "bytes" when path.TryNextNumber(out var length):
                return BytesEndpoint.SendAsync(context, length);
            case "hash" when path.TryNextNumber(out var length):
                return BytesEndpoint.SendHashAsync(context, length);
            case "echo":
                return EchoEndpoint.HandleAsync(context);
            case "sink":
                return SinkEndpoint.HandleAsync(context);
            case "slow-sink":
                return SinkEndpoint.HandleSlowlyAsync(context);
            case "upload":
                return UploadEndpoint.HandleAsync(context);
            case "delay" when path.TryNextNumber(out var milliseconds):
                return TimedEndpoint.DelayAsync(context, milliseconds);
            case "gather" when path.TryNextNumber(out var present):
                return GatherEndpoint.HandleAsync(context, present);
            case "stream" when path.TryNextNumber(out var count) && path.TryNextNumber(out var size)
                    && path.TryNextNumber(out var milliseconds) && size <= PatternBytes.Period:
                return TimedEndpoint.StreamAsync(context, count, (int)size, milliseconds);
            case "sse":
                return TimedEndpoint.SendEventsAsync(context);
            case "status" when path.TryNextNumber(out var status) && status is >= 200 and <= 999:
                return StatusEndpoint.HandleAsync(context, (int)status);
            case "headers":
                return HeadersEndpoint.ListAsync(context);
            case "set-headers":
                return HeadersEndpoint.SetAsync(context);
            case "trailers":
                return TrailersEndpoint.HandleAsync(context);
            case "expect":
                return ExpectEndpoint.HandleAsync(context);
            case "abort" when path.TryNextNumber(out var length):
                return AbortEndpoint.HandleAsync(context, length);
            case "ws-echo":
                return WebSocketEndpoint.HandleAsync(context);
            case "upgrade" when path.Next() is "raw":
                return RawUpgradeEndpoint.HandleAsync(context);
            case "":
                return AnswerTextAsync(
                    context, StatusCodes.Status200OK, string.Create(CultureInfo.InvariantCulture,
                        $"tunnel2-testbackend on {context.Connection.LocalIpAddress}:{context.Connection.LocalPort}, "
                            + $"{context.Request.Protocol}\n\n{Help}"));
            default:
                return AnswerTextAsync(context, StatusCodes.Status404NotFound, $"There is no such path here.\n\n{Help}");
        }
    }

    /// <summary>Answers with <paramref name="text"/> and its length.</summary>
    public static Task AnswerTextAsync(HttpContext context, int status, string text) =>
        AnswerAsync(context, status, _plainText, System.Text.Encoding.UTF8.GetBytes(text));

    /// <summary>Answers with <paramref name="body"/> and its length.</summary>
    public static Task AnswerAsync(HttpContext context, int status, StringValues contentType, ReadOnlyMemory<byte> body)
    {
        var response = context.Response;
        response.StatusCode = status;
        response.Headers.ContentType = contentType;
        response.ContentLength = body.Length;
        return response.BodyWriter.WriteAsync(body, context.RequestAborted).AsTask();
    }
}
