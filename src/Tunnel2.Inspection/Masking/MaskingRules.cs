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

        return value.AsSpan().ContainsAny('?', '#', '@') ? OfUrl(value) : value;
    }

    /// <summary>A target or URL as it is shown: without the values of secret parameters, and without a password.</summary>
    public string OfUrl(string url)
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
        return url[..query] + OfForm(url[query..end]) + (fragment < 0 ? "" : "#" + OfForm(url[(fragment + 1)..]));
    }

    /// <summary>A form or query as it is shown.</summary>
    public string OfForm(string form) => string.Join('&', form.Split('&').Select(part =>
    {
        var equals = part.IndexOf('=', StringComparison.Ordinal);
        return equals >= 0 && IsSecret(Decode(part[..equals])) ? $"{part[..equals]}={Mask}" : part;
    }));

    private static string Decode(string name)
    {
        try
        {
            return Uri.UnescapeDataString(name.Replace('+', ' '));
        }
        catch (UriFormatException)
        {
            return name;
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
