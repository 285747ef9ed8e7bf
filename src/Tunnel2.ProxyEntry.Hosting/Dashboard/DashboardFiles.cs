using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Microsoft.Net.Http.Headers;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// The files of the page at <c>/</c> of the admin listener, below <c>/dashboard/</c>. They hold no data, so they need no token; the data
/// come over <c>/live</c>. Thread-safe.
/// </summary>
internal static class DashboardFiles
{
    /// <summary>The page's path.</summary>
    public const string Root = "/";

    private const string Prefix = "dashboard/";
    private const string Index = Prefix + "index.html";
    private const string BuildMark = "{{build}}";

    /// <summary>
    /// Scripts and styles are files of this server only, no text becomes a script (Trusted Types), and no page may show this one in a
    /// frame.
    /// </summary>
    private const string Policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; "
            + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

    private static readonly Lazy<Dictionary<string, PageFile>> _files = new(Load);

    /// <summary>Changes with every change of a file. The page compares it with its own, and loads itself again after an upgrade.</summary>
    public static string Build => _files.Value[Index].Build;

    /// <summary>Whether a path belongs to the page.</summary>
    public static bool Has(string? path) => path is not null && Find(path) is not null;

    /// <summary>Answers a request for one of the files.</summary>
    public static async Task WriteAsync(HttpContext http)
    {
        var (request, response) = (http.Request, http.Response);
        if (!HttpMethods.IsGet(request.Method) && !HttpMethods.IsHead(request.Method))
        {
            response.StatusCode = StatusCodes.Status405MethodNotAllowed;
            response.Headers[HeaderNames.Allow] = "GET, HEAD";
            return;
        }

        var file = Find(request.Path.Value!)!;
        response.Headers[HeaderNames.CacheControl] = "no-cache";
        response.Headers[HeaderNames.ETag] = file.Tag;
        response.Headers[HeaderNames.XContentTypeOptions] = "nosniff";
        response.Headers[HeaderNames.ContentSecurityPolicy] = Policy;
        response.Headers["Referrer-Policy"] = "no-referrer";
        response.Headers["Cross-Origin-Opener-Policy"] = "same-origin";
        response.Headers["Cross-Origin-Resource-Policy"] = "same-origin";
        if (request.Headers[HeaderNames.IfNoneMatch] == file.Tag)
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            return;
        }

        response.ContentType = file.ContentType;
        response.ContentLength = file.Bytes.Length;
        if (HttpMethods.IsGet(request.Method))
        {
            await response.Body.WriteAsync(file.Bytes, http.RequestAborted).ConfigureAwait(false);
        }
    }

    private static PageFile? Find(string path) =>
        path == Root ? _files.Value[Index]
        : path.StartsWith("/" + Prefix, StringComparison.Ordinal) ? _files.Value.GetValueOrDefault(path[1..])
        : null;

    private static Dictionary<string, PageFile> Load()
    {
        var assembly = typeof(DashboardFiles).Assembly;
        var bytes = new SortedDictionary<string, byte[]>(StringComparer.Ordinal);
        foreach (var resource in assembly.GetManifestResourceNames())
        {
            var name = resource.Replace('\\', '/');
            if (name.StartsWith(Prefix, StringComparison.Ordinal))
            {
                using var stream = assembly.GetManifestResourceStream(resource)!;
                stream.ReadExactly(bytes[name] = new byte[stream.Length]);
            }
        }

        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (var (name, content) in bytes)
        {
            hash.AppendData(Encoding.UTF8.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{name}\n{content.Length}\n")));
            hash.AppendData(content);
        }

        var build = Convert.ToHexStringLower(hash.GetHashAndReset().AsSpan(0, 8));
        bytes[Index] = Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(bytes[Index]).Replace(BuildMark, build, StringComparison.Ordinal));
        return bytes.ToDictionary(
            static pair => pair.Key, pair => new PageFile(pair.Value, TypeOf(pair.Key), build), StringComparer.Ordinal);
    }

    private static string TypeOf(string name) => Path.GetExtension(name) switch
    {
        ".html" => "text/html; charset=utf-8",
        ".css" => "text/css; charset=utf-8",
        ".svg" => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };

    private sealed record PageFile(byte[] Bytes, string ContentType, string Build)
    {
        public string Tag { get; } = $"\"{Convert.ToHexStringLower(SHA256.HashData(Bytes).AsSpan(0, 8))}\"";
    }
}
