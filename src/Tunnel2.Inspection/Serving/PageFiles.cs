using System.Reflection;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.Inspection.Serving;

/// <summary>The files of the page, which are part of this assembly. Immutable.</summary>
internal static class PageFiles
{
    /// <summary>
    /// Fields of every answer: the page runs its own scripts only, no text becomes one (Trusted Types), it talks to its own origin only,
    /// and is in no frame.
    /// </summary>
    public static readonly (string Name, string Value)[] Fields =
    [
        ("Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ];

    private static readonly Assembly _assembly = typeof(PageFiles).Assembly;

    private static readonly Lazy<string> _build = new(static () =>
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (var name in _assembly.GetManifestResourceNames().Order(StringComparer.Ordinal))
        {
            hash.AppendData(Encoding.UTF8.GetBytes(name + "\n"));
            hash.AppendData(Read(_assembly.GetManifestResourceStream(name)!));
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset().AsSpan(0, 4));
    });

    /// <summary>Changes with every change of a file: a page that is of other files loads itself again.</summary>
    public static string Build => _build.Value;

    /// <summary>A file by the path of a request; null where there is none.</summary>
    public static InspectorResponse? Find(string path)
    {
        var name = path == "/" ? "index.html" : path.TrimStart('/');
        var type = Path.GetExtension(name) switch
        {
            ".html" => "text/html; charset=utf-8",
            ".css" => "text/css; charset=utf-8",
            ".js" => "text/javascript; charset=utf-8",
            ".svg" => "image/svg+xml",
            _ => null,
        };
        if (type is null || _assembly.GetManifestResourceStream(name) is not { } file)
        {
            return null;
        }

        return new InspectorResponse { Status = 200, ContentType = type, Body = Read(file) };
    }

    private static byte[] Read(Stream resource)
    {
        using (resource)
        {
            var bytes = new byte[resource.Length];
            resource.ReadExactly(bytes);
            return bytes;
        }
    }
}
