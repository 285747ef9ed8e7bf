using System.Globalization;
using System.Text;

namespace Tunnel2.ProxyEntry.Errors;

/// <summary>Chooses the form of an error's body by <c>Accept</c> (RFC 9110 section 12.5.1). Never throws, never allocates.</summary>
internal static class ErrorBodyNegotiation
{
    // Longer than any browser sends; the rest is ignored.
    private const int MaxAcceptLength = 512;

    private const string Grpc = "application/grpc";
    private const string GrpcWeb = "application/grpc-web";

    /// <summary>What a gRPC request gets; for others HTML or problem+json by <c>Accept</c>.</summary>
    /// <param name="contentType">The request's <c>Content-Type</c>.</param>
    /// <param name="accept">The request's <c>Accept</c>.</param>
    public static ErrorBodyFormat Choose(ReadOnlySpan<char> contentType, ReadOnlySpan<char> accept) =>
        !contentType.StartsWith(Grpc, StringComparison.OrdinalIgnoreCase) ? Choose(accept)
        : contentType.StartsWith(GrpcWeb, StringComparison.OrdinalIgnoreCase) ? ErrorBodyFormat.GrpcWeb
        : contentType.Length == Grpc.Length || contentType[Grpc.Length] is '+' or ';' or ' ' ? ErrorBodyFormat.Grpc
        : Choose(accept);

    /// <summary>The same for values in bytes.</summary>
    public static ErrorBodyFormat Choose(ReadOnlySpan<byte> contentType, ReadOnlySpan<byte> accept)
    {
        Span<char> characters = stackalloc char[GrpcWeb.Length + 1];
        var length = Encoding.Latin1.GetChars(contentType[..Math.Min(contentType.Length, characters.Length)], characters);
        var format = Choose(characters[..length], default);
        return format is ErrorBodyFormat.Grpc or ErrorBodyFormat.GrpcWeb ? format : Choose(accept);
    }

    /// <summary>
    /// HTML if the client names it and does not prefer JSON; otherwise problem+json. A wildcard does not ask for HTML: curl and most
    /// libraries send <c>*/*</c>.
    /// </summary>
    public static ErrorBodyFormat Choose(ReadOnlySpan<char> accept)
    {
        double html = 0;
        double json = 0;
        foreach (var range in accept.Split(','))
        {
            var item = accept[range];
            var semicolon = item.IndexOf(';');
            var type = (semicolon < 0 ? item : item[..semicolon]).Trim();
            if (type.Equals("text/html", StringComparison.OrdinalIgnoreCase)
                || type.Equals("application/xhtml+xml", StringComparison.OrdinalIgnoreCase))
            {
                html = Math.Max(html, GetQuality(item, semicolon));
            }
            else if (type.Equals("application/json", StringComparison.OrdinalIgnoreCase)
                || type.Equals("application/problem+json", StringComparison.OrdinalIgnoreCase))
            {
                json = Math.Max(json, GetQuality(item, semicolon));
            }
        }

        return html > 0 && html >= json ? ErrorBodyFormat.Html : ErrorBodyFormat.ProblemJson;
    }

    /// <summary>The same for a value in bytes.</summary>
    public static ErrorBodyFormat Choose(ReadOnlySpan<byte> accept)
    {
        Span<char> characters = stackalloc char[MaxAcceptLength];
        var length = Encoding.Latin1.GetChars(accept[..Math.Min(accept.Length, MaxAcceptLength)], characters);
        return Choose(characters[..length]);
    }

    private static double GetQuality(ReadOnlySpan<char> item, int semicolon)
    {
        if (semicolon < 0)
        {
            return 1;
        }

        var parameters = item[(semicolon + 1)..];
        foreach (var range in parameters.Split(';'))
        {
            var parameter = parameters[range].Trim();
            if (parameter.StartsWith("q=", StringComparison.OrdinalIgnoreCase))
            {
                return double.TryParse(parameter[2..], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var quality)
                    ? quality
                    : 0;
            }
        }

        return 1;
    }
}
