using System.Buffers;
using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Which names carry secrets. They are compared without case, hyphens, underscores, dots and spaces, so <c>X-Api-Key</c>, <c>api_key</c>
/// and <c>apiKey</c> are one. Immutable.
/// </summary>
internal sealed class MaskingRules
{
    /// <summary>What is shown in a secret's place. Its length says nothing.</summary>
    public const string Mask = "***";

    private static readonly string[] _builtIn =
    [
        "*authorization*", "*cookie*", "*token*", "*secret*", "*password*", "*passwd*", "*passphrase*", "*passcode*", "*apikey*",
        "*accesskey*", "*authkey*", "*privatekey*", "*signingkey*", "*encryptionkey*", "*credential*", "*connectionstring*",
        "*sessionid*", "*csrf*", "*xsrf*", "*signature*", "*jwt*", "*cardnumber*", "*creditcard*",
        "auth", "xauth", "pwd", "pass", "pin", "otp", "sid", "sig", "cvv", "cvc", "ssn",
    ];

    /// <summary>How deep URLs, forms and JSON are looked for in each other. What is deeper, and may be one of them, is a mask.</summary>
    private const int MostLevels = 4;

    /// <summary>What a text has in it that is a URL with a query, a fragment or a password, or JSON.</summary>
    private static readonly SearchValues<char> _signs = SearchValues.Create("?#@{");

    /// <summary>What stands between URLs in a field such as Link, and in none of them.</summary>
    private static readonly SearchValues<char> _aroundUrls = SearchValues.Create(" \t<>\"");

    private static readonly string[] _schemes =
        ["Basic", "Bearer", "Digest", "Negotiate", "NTLM", "HOBA", "Mutual", "DPoP", "AWS4-HMAC-SHA256"];

    private readonly string[] _patterns;

    /// <summary>Makes rules.</summary>
    /// <param name="further">Further names, <c>*</c> for any characters.</param>
    public MaskingRules(IEnumerable<string> further) =>
        _patterns = [.. _builtIn.Concat(further.Select(Plain)).Where(static pattern => pattern.Trim('*').Length > 0).Distinct()];

    /// <summary>The names that are always masked.</summary>
    public static MaskingRules BuiltIn { get; } = new([]);

    /// <summary>Whether a name is that of a secret.</summary>
    public bool IsSecret(string name)
    {
        var plain = Plain(name);
        return _patterns.Any(pattern => Matches(plain, pattern));
    }

    /// <summary>The value of a field as it is shown.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <returns>The same value where it carries no secret.</returns>
    public string OfField(string name, string value)
    {
        if (name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) || name.Equals("Set-Cookie", StringComparison.OrdinalIgnoreCase))
        {
            return OfCookie(value, isSet: name.Length > 6);
        }

        // Fields of CORS have such names, and are public.
        if (IsSecret(name) && !name.StartsWith("Access-Control-", StringComparison.OrdinalIgnoreCase))
        {
            var scheme = _schemes.FirstOrDefault(
                known => value.StartsWith(known + " ", StringComparison.OrdinalIgnoreCase)
                    && name.EndsWith("Authorization", StringComparison.OrdinalIgnoreCase));
            return scheme is null ? Mask : $"{scheme} {Mask}";
        }

        return !value.AsSpan().ContainsAny(_signs) ? value
            : OfUrls(OfUrl(IsLikeJson(value) ? OfText(value, level: 0) : value));
    }

    /// <summary>A target or URL as it is shown: without the values of secret parameters, and without a password.</summary>
    public string OfUrl(string url) => OfUrl(url, level: 0);

    /// <summary>A form or query as it is shown.</summary>
    public string OfForm(string form) => OfForm(form, level: 0);

    /// <summary>The text of a value as it is shown: where it is JSON or a URL, without what is secret in that.</summary>
    /// <param name="text">The text, with no escapes of what it stands in.</param>
    /// <param name="level">In how many others it stands.</param>
    internal string OfText(string text, int level)
    {
        var isJson = IsLikeJson(text);
        return !text.AsSpan().ContainsAny(_signs) || (!isJson && text.AsSpan().ContainsAny(' ', '\n')) ? text
            : level > MostLevels ? Mask
            : isJson ? Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(text), this, level, out _))
            : OfUrl(text, level);
    }

    private static bool IsLikeJson(string text) => text.AsSpan().TrimStart() is ['{' or '[' or '"', ..];

    private string OfUrl(string url, int level)
    {
        var user = url.IndexOf("://", StringComparison.Ordinal);
        var at = user < 0 ? -1 : url.IndexOf('@', user);
        if (at > 0 && url.AsSpan(user + 3, at - user - 3).IndexOfAny('/', '?', '#') < 0)
        {
            url = $"{url[..(user + 3)]}{Mask}{url[at..]}";
        }

        var fragment = url.IndexOf('#', StringComparison.Ordinal);
        var end = fragment < 0 ? url.Length : fragment;
        var query = url.IndexOf('?', StringComparison.Ordinal);
        query = query < 0 || query > end ? end : query + 1;
        return url[..query] + OfForm(url[query..end], level) + (fragment < 0 ? "" : "#" + OfForm(url[(fragment + 1)..], level));
    }

    /// <summary>Each URL of a text that has several, and other text around them.</summary>
    private string OfUrls(string text)
    {
        var shown = new StringBuilder(text.Length);
        var rest = text.AsSpan();
        while (rest.IndexOfAny(_aroundUrls) is >= 0 and var end)
        {
            shown.Append(OfUrl(rest[..end].ToString())).Append(rest[end]);
            rest = rest[(end + 1)..];
        }

        return shown.Append(OfUrl(rest.ToString())).ToString();
    }

    private string OfForm(string form, int level) => string.Join('&', form.Split('&').Select(part => OfPair(part, level)));

    private string OfPair(string part, int level)
    {
        var equals = part.IndexOf('=', StringComparison.Ordinal);
        if (equals < 0)
        {
            return part;
        }

        var (name, value) = (part[..equals], part[(equals + 1)..]);
        if (IsSecret(Decode(name)))
        {
            return $"{name}={Mask}";
        }

        // A plus is a space in JSON. A URL has no spaces, and its own pluses are those of its query.
        var plain = Unescape(value);
        plain = IsLikeJson(plain) ? Decode(value) : plain;
        var shown = OfText(plain, level + 1);
        return shown == plain ? part
            : plain == value ? $"{name}={shown}"
            : $"{name}={Uri.EscapeDataString(shown).Replace("%2A%2A%2A", Mask, StringComparison.Ordinal)}";
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

    private static string OfCookie(string value, bool isSet)
    {
        var parts = value.Split(';');
        for (var i = 0; i < (isSet ? 1 : parts.Length); i++)
        {
            var equals = parts[i].IndexOf('=', StringComparison.Ordinal);
            parts[i] = equals < 0 ? (parts[i].Trim().Length == 0 ? parts[i] : Mask) : $"{parts[i][..equals]}={Mask}";
        }

        return string.Join(';', parts);
    }

    private static string Plain(string name)
    {
        Span<char> plain = name.Length <= 256 ? stackalloc char[name.Length] : new char[name.Length];
        var length = 0;
        foreach (var character in name)
        {
            if (character is not ('-' or '_' or '.' or ' ' or '[' or ']'))
            {
                plain[length++] = char.ToLowerInvariant(character);
            }
        }

        return new string(plain[..length]);
    }

    /// <summary>Matches with <c>*</c>, in linear steps for each star.</summary>
    private static bool Matches(string text, string pattern)
    {
        var parts = pattern.Split('*');
        if (parts.Length == 1)
        {
            return text == pattern;
        }

        if (!text.StartsWith(parts[0], StringComparison.Ordinal))
        {
            return false;
        }

        var position = parts[0].Length;
        for (var i = 1; i < parts.Length - 1; i++)
        {
            var found = text.IndexOf(parts[i], position, StringComparison.Ordinal);
            if (found < 0)
            {
                return false;
            }

            position = found + parts[i].Length;
        }

        return text.Length - position >= parts[^1].Length && text.EndsWith(parts[^1], StringComparison.Ordinal);
    }
}
