using System.Globalization;

namespace Tunnel2.ProxyEntry.Errors;

/// <summary>Renders errors. Safe for any number of threads.</summary>
internal static class ErrorResponses
{
    private const int FormatCount = 4;

    // Filled on first use: a few dozen small bodies at most, and most processes never need one.
    private static readonly ErrorResponse?[] _constant = new ErrorResponse?[ProxyErrorCatalog.All.Count * FormatCount];

    /// <summary>The constant answer to an error: rendered once, then shared.</summary>
    public static ErrorResponse Get(ProxyError error, ErrorBodyFormat format)
    {
        ref var slot = ref _constant[((int)error * FormatCount) + (int)format];
        return Volatile.Read(ref slot) ?? Publish(ref slot, error, format);
    }

    /// <summary>The answer to an error with the details of one request; the constant answer if there are none.</summary>
    public static ErrorResponse Get(ProxyError error, ErrorBodyFormat format, in ErrorDetails details) =>
        details.IsEmpty ? Get(error, format) : Render(ProxyErrorCatalog.Get(error), format, details);

    private static ErrorResponse Publish(ref ErrorResponse? slot, ProxyError error, ErrorBodyFormat format)
    {
        var rendered = Render(ProxyErrorCatalog.Get(error), format, default);
        return Interlocked.CompareExchange(ref slot, rendered, null) ?? rendered;
    }

    private static ErrorResponse Render(ProxyErrorInfo info, ErrorBodyFormat format, in ErrorDetails details)
    {
        if (format is ErrorBodyFormat.Grpc or ErrorBodyFormat.GrpcWeb)
        {
            return RenderGrpc(info, format, details.Node);
        }

        var headers = new List<KeyValuePair<string, string>>(8)
        {
            new("Content-Type", format == ErrorBodyFormat.Html ? "text/html; charset=utf-8" : "application/problem+json"),
            new("Cache-Control", "no-store"),
            new("Tunnel2-Error", info.Code),
            new("Proxy-Status", info.ProxyStatusOf(details.Node)),
            new("X-Content-Type-Options", "nosniff"),
        };
        if (format == ErrorBodyFormat.Html)
        {
            headers.Add(new("Content-Security-Policy", ErrorPage.ContentSecurityPolicy));
        }

        if (info.Challenge is { } challenge)
        {
            headers.Add(new("WWW-Authenticate", challenge));
        }

        if ((details.RetryAfterSeconds ?? info.RetryAfterSeconds) is { } seconds)
        {
            headers.Add(new("Retry-After", Math.Max(0, seconds).ToString(CultureInfo.InvariantCulture)));
        }

        if (info.Error == ProxyError.RequestHeadTooLarge)
        {
            // The rest of the head was not read, and may say that the request is one of gRPC.
            headers.Add(new("Grpc-Status", GrpcStatus.Of(info).ToString(CultureInfo.InvariantCulture)));
            headers.Add(new("Grpc-Message", GrpcStatus.MessageOf(info)));
        }

        var body = format == ErrorBodyFormat.Html ? ErrorPage.Render(info, details) : ProblemJson.Render(info, details);
        return new ErrorResponse(info.Status, headers.ToArray(), body);
    }

    private static ErrorResponse RenderGrpc(ProxyErrorInfo info, ErrorBodyFormat format, string? node) => new(
        200,
        [
            new("Content-Type", format == ErrorBodyFormat.Grpc ? "application/grpc" : "application/grpc-web+proto"),
            new("Grpc-Status", GrpcStatus.Of(info).ToString(CultureInfo.InvariantCulture)),
            new("Grpc-Message", GrpcStatus.MessageOf(info)),
            new("Cache-Control", "no-store"),
            new("Tunnel2-Error", info.Code),
            new("Proxy-Status", info.ProxyStatusOf(node)),
        ],
        default);

    /// <summary>The first 200 characters of a value that a visitor chose.</summary>
    internal static string Cut(string value) => value.Length <= 200 ? value : value[..200];
}
