using System.Buffers;
using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>Replaces passwords and the values of secret parameters in URLs and forms, and in what their values contain.</summary>
internal static class UrlMask
{
    /// <summary>What a text has in it that is a URL with parameters or a password, a form or JSON.</summary>
    private static readonly SearchValues<char> _signs = SearchValues.Create("?#@{;&");

    /// <summary>The same in a string of JSON, where each of them may be written as an escape.</summary>
    private static readonly SearchValues<byte> _signsInJson = SearchValues.Create("?#@{;&\\"u8);

    /// <summary>What separates URLs in a text, and is in none of them.</summary>
    private static readonly SearchValues<char> _aroundUrls = SearchValues.Create(" \t\r\n<>\"");

    /// <summary>What ends a host and what is before it.</summary>
    private static readonly SearchValues<char> _afterAuthority = SearchValues.Create("/?#");

    /// <summary>What ends one parameter of a path and begins the next.</summary>
    private static readonly SearchValues<char> _betweenParameters = SearchValues.Create(";&");

    /// <summary>The same where the path has segments.</summary>
    private static readonly SearchValues<char> _betweenSegments = SearchValues.Create(";&/");

    /// <summary>What is before the name of a parameter that is read as a part of another's.</summary>
    private static readonly SearchValues<char> _beforeName = SearchValues.Create(";?#/");

    /// <summary>Whether a text may have something in it that is masked here.</summary>
    public static bool MayBeOne(ReadOnlySpan<char> text) => text.ContainsAny(_signs);

    /// <summary>Whether a string of JSON, as it is written there, may have something in it that is masked here.</summary>
    public static bool MayBeOneInJson(ReadOnlySpan<byte> text) => text.ContainsAny(_signsInJson);

    /// <summary>Masks a URL.</summary>
    /// <param name="url">The URL, or its target.</param>
    /// <param name="rules">The names.</param>
    /// <param name="level">How many other texts contain it.</param>
    public static string Apply(string url, MaskingRules rules, int level)
    {
        var fragment = url.IndexOf('#', StringComparison.Ordinal);
        var end = fragment < 0 ? url.Length : fragment;
        var query = url.IndexOf('?', StringComparison.Ordinal);
        query = query < 0 || query > end ? end : query + 1;
        return OfPath(WithoutPasswords(url[..query]), rules, level)
            + OfForm(url[query..end], rules, level)
            + (fragment < 0 ? "" : "#" + OfForm(url[(fragment + 1)..], rules, level));
    }

    /// <summary>Masks each URL of a text that has other text around them.</summary>
    /// <param name="text">The text.</param>
    /// <param name="rules">The names.</param>
    /// <param name="level">How many other texts contain it.</param>
    public static string OfUrls(string text, MaskingRules rules, int level)
    {
        var shown = new StringBuilder(text.Length);
        var rest = text.AsSpan();
        while (rest.IndexOfAny(_aroundUrls) is >= 0 and var end)
        {
            shown.Append(OfWord(rest[..end], rules, level)).Append(rest[end]);
            rest = rest[(end + 1)..];
        }

        return shown.Append(OfWord(rest, rules, level)).ToString();
    }

    /// <summary>Masks a form or query.</summary>
    /// <param name="form">The form.</param>
    /// <param name="rules">The names.</param>
    /// <param name="level">How many other texts contain it.</param>
    public static string OfForm(string form, MaskingRules rules, int level) =>
        string.Join('&', form.Split('&').Select(part => OfPair(part, rules, level)));

    private static ReadOnlySpan<char> OfWord(ReadOnlySpan<char> word, MaskingRules rules, int level) =>
        MayBeOne(word) ? rules.OfText(word.ToString(), level) : word;

    /// <summary>A URL up to its query, without the user and password that may be before each host in it.</summary>
    private static string WithoutPasswords(string path)
    {
        // In one pass: to write the rest again for each host would take the square of the time.
        StringBuilder? shown = null;
        var written = 0;
        for (var at = path.IndexOf("//", StringComparison.Ordinal); at >= 0; at = path.IndexOf("//", at + 2, StringComparison.Ordinal))
        {
            if (at > 0 && path[at - 1] != ':')
            {
                continue;
            }

            // A password may have an @ in it, and a host has none.
            var length = path.AsSpan(at + 2).IndexOfAny(_afterAuthority);
            var host = path.AsSpan(at + 2, length < 0 ? path.Length - at - 2 : length).LastIndexOf('@');
            if (host > 0)
            {
                shown = (shown ?? new StringBuilder(path.Length)).Append(path, written, at + 2 - written).Append(MaskingRules.Mask);
                written = at + 2 + host;
            }
        }

        return shown is null ? path : shown.Append(path, written, path.Length - written).ToString();
    }

    /// <summary>A path, without the values of its own parameters: <c>/a;jsessionid=1/b</c>. What is no path is parameters alone.</summary>
    private static string OfPath(string path, MaskingRules rules, int level)
    {
        if (!path.Contains('=', StringComparison.Ordinal))
        {
            return path;
        }

        var ends = path.StartsWith('/') || path.Contains("://", StringComparison.Ordinal) ? _betweenSegments : _betweenParameters;
        var shown = new StringBuilder(path.Length);
        var rest = path.AsSpan();
        while (rest.IndexOfAny(ends) is >= 0 and var end)
        {
            shown.Append(OfPair(rest[..end].ToString(), rules, level)).Append(rest[end]);
            rest = rest[(end + 1)..];
        }

        return shown.Append(OfPair(rest.ToString(), rules, level)).ToString();
    }

    private static string OfPair(string part, MaskingRules rules, int level)
    {
        var equals = part.IndexOf('=', StringComparison.Ordinal);
        if (equals < 0)
        {
            return part;
        }

        var (name, value) = (part[..equals], part[(equals + 1)..]);
        if (rules.IsSecret(Decode(name)) || rules.IsSecret(Decode(name[(name.AsSpan().LastIndexOfAny(_beforeName) + 1)..])))
        {
            return $"{name}={MaskingRules.Mask}";
        }

        // A plus is a space in JSON. A URL has no spaces, and its own pluses are those of its query.
        var plain = Unescape(value);
        plain = MaskingRules.IsLikeJson(plain) ? Decode(value) : plain;
        var shown = rules.OfText(plain, level + 1);
        return shown == plain ? part
            : plain == value ? $"{name}={shown}"
            : $"{name}={Uri.EscapeDataString(shown).Replace("%2A%2A%2A", MaskingRules.Mask, StringComparison.Ordinal)}";
    }

    private static string Decode(string text) => Unescape(text.Replace('+', ' '));

    private static string Unescape(string text)
    {
        try
        {
            return Uri.UnescapeDataString(text);
        }
        catch (UriFormatException)
        {
            return text;
        }
    }
}
