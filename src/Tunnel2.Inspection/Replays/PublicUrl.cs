namespace Tunnel2.Inspection.Replays;

/// <summary>The public URL of a session as one of its visitors called it: that of a wildcard covers many names. Stateless.</summary>
internal static class PublicUrl
{
    private const string Wildcard = "://*.";

    /// <summary>Finds the URL.</summary>
    /// <param name="url">The public URL of the session, which may have <c>*</c> in place of its first part.</param>
    /// <param name="authority">Host and port that a visitor called.</param>
    /// <returns>Null where it is none, or where it covers that host no more than a stranger's.</returns>
    public static Uri? Of(string url, string authority)
    {
        var text = url;
        var wildcard = url.IndexOf(Wildcard, StringComparison.Ordinal);
        if (wildcard >= 0)
        {
            var scheme = url[..wildcard];
            var rest = url[(wildcard + Wildcard.Length - 1)..];
            var end = rest.IndexOfAny([':', '/']);
            var below = end < 0 ? rest : rest[..end];
            var host = HostOf(authority);
            var dot = host.IndexOf('.', StringComparison.Ordinal);
            if (dot < 1 || !host[..dot].All(static c => char.IsAsciiLetterOrDigit(c) || c == '-')
                || !host[dot..].Equals(below, StringComparison.OrdinalIgnoreCase))
            {
                return null;
            }

            text = $"{scheme}://{host[..dot]}{rest}";
        }

        return Uri.TryCreate(text, UriKind.Absolute, out var address)
            && (address.Scheme == Uri.UriSchemeHttp || address.Scheme == Uri.UriSchemeHttps)
            && address.UserInfo.Length == 0
            ? address
            : null;
    }

    /// <summary>Those of a session's URLs that cover what a visitor called, first that with the scheme of the visitor.</summary>
    /// <param name="urls">The public URLs of the session.</param>
    /// <param name="authority">Host and port that the visitor called.</param>
    /// <param name="isSecure">Whether the visitor used TLS.</param>
    public static IEnumerable<Uri> AllOf(IEnumerable<string> urls, string authority, bool isSecure) => urls
        .Select(url => Of(url, authority))
        .OfType<Uri>()
        .OrderBy(url => url.Scheme == (isSecure ? Uri.UriSchemeHttps : Uri.UriSchemeHttp) ? 0 : 1);

    /// <summary>Whether two authorities have the same host.</summary>
    public static bool AreOfOneHost(string authority, string other) =>
        HostOf(authority).Equals(HostOf(other), StringComparison.OrdinalIgnoreCase);

    /// <summary>The host of an authority, without its port and the dot of the root.</summary>
    private static string HostOf(string authority)
    {
        var colon = authority.LastIndexOf(':');
        var host = colon > authority.LastIndexOf(']') ? authority[..colon] : authority;
        return host.EndsWith('.') ? host[..^1] : host;
    }
}
