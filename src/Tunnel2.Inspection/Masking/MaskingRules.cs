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
        "*accesskey*", "*authkey*", "*privatekey*", "*signingkey*", "*encryptionkey*", "*subscriptionkey*", "*functionskey*",
        "*accountkey*", "*sharedkey*", "*masterkey*", "*credential*", "*connectionstring*", "*sessionid*", "*csrf*", "*xsrf*",
        "*signature*", "*jwt*", "*codeverifier*", "*cardnumber*", "*creditcard*", "*pwd",
        "auth", "xauth", "dpop", "pass", "pin", "otp", "totp", "sid", "sig", "cvv", "cvc", "ssn", "clientassertion", "samlresponse",
    ];

    /// <summary>How deep URLs, forms and JSON are looked for in each other. What is deeper, and may be one of them, is a mask.</summary>
    private const int MostLevels = 4;

    private static readonly string[] _schemes =
        ["Basic", "Bearer", "Digest", "Negotiate", "NTLM", "HOBA", "Mutual", "DPoP", "AWS4-HMAC-SHA256"];

    /// <summary>How the names of fields end that a program has made up for a secret: in other names these words are common.</summary>
    private static readonly string[] _ownFields = ["-key", "-pass", "-session"];

    /// <summary>Each pattern as its parts between the stars.</summary>
    private readonly string[][] _patterns;

    /// <summary>Makes rules.</summary>
    /// <param name="further">Further names, <c>*</c> for any characters.</param>
    public MaskingRules(IEnumerable<string> further) =>
        _patterns =
        [
            .. _builtIn.Concat(further.Select(Plain)).Where(static pattern => pattern.Trim('*').Length > 0).Distinct()
                .Select(static pattern => pattern.Split('*')),
        ];

    /// <summary>The names that are always masked.</summary>
    public static MaskingRules BuiltIn { get; } = new([]);

    /// <summary>Whether a name is that of a secret, or one of its parts is: <c>card[cvc][]</c>, <c>user.pin</c>.</summary>
    public bool IsSecret(string name) =>
        IsSecretPart(name)
        || (name.Contains('[', StringComparison.Ordinal) && name.Split('[', ']').Any(IsSecretPart))
        || (name.LastIndexOf('.') is >= 0 and var dot && IsSecretPart(name[(dot + 1)..]));

    /// <summary>XML as it is shown: without the contents of secret elements and attributes, and without the secrets of URLs.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public byte[] OfXml(ReadOnlySpan<byte> text, out bool masked)
    {
        var elements = Encoding.Latin1.GetString(XmlMask.Apply(text, this, out masked));
        var shown = UrlMask.OfUrls(elements, this, level: 0);
        var quoted = JsonMask.Apply(Encoding.Latin1.GetBytes(shown), this, out var isTextMasked);
        masked |= isTextMasked || shown != elements;
        return quoted;
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

        // Browsers can send no other field with a WebSocket: programs put their tokens between the names of protocols.
        if (name.Equals("Sec-WebSocket-Protocol", StringComparison.OrdinalIgnoreCase) && IsSecret(value))
        {
            return Mask;
        }

        return TokenMask.Apply(!UrlMask.MayBeOne(value) ? value
            : UrlMask.OfUrls(UrlMask.Apply(IsLikeJson(value) ? OfText(value, level: 0) : value, this, level: 0), this, level: 0));
    }

    /// <summary>A target or URL as it is shown: without the values of secret parameters, and without a password.</summary>
    public string OfUrl(string url) => TokenMask.Apply(UrlMask.Apply(url, this, level: 0));

    /// <summary>A form or query as it is shown.</summary>
    public string OfForm(string form) => UrlMask.OfForm(form, this, level: 0);

    /// <summary>
    /// Plain text as it is shown: lines of a name and a value are those of forms, settings and heads, and in the others are URLs and JSON.
    /// What begins as XML is masked as that first.
    /// </summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public byte[] OfLines(byte[] text, out bool masked)
    {
        masked = false;
        if (IsLikeXml(text))
        {
            text = XmlMask.Apply(text, this, out masked);
        }

        // Latin-1 keeps what is not ASCII as it is.
        var lines = Encoding.Latin1.GetString(text);
        var shown = LineMask.Apply(lines, this);
        var isLineMasked = shown != lines;
        var json = JsonMask.Apply(Encoding.Latin1.GetBytes(shown), this, out var isKeyMasked);
        lines = Encoding.Latin1.GetString(json);
        var pairs = PairLineMask.Apply(lines, this);
        masked |= isKeyMasked || isLineMasked || pairs != lines;
        return Encoding.Latin1.GetBytes(pairs);
    }

    /// <summary>
    /// The text of a value as it is shown: where it is JSON or a URL, or has URLs or names of texts in it, without their secrets.
    /// </summary>
    /// <param name="text">The text, with no escapes of the texts that contain it.</param>
    /// <param name="level">How many other texts contain it.</param>
    internal string OfText(string text, int level)
    {
        if (!UrlMask.MayBeOne(text))
        {
            return text;
        }

        var isJson = IsLikeJson(text);
        var isOneWord = !text.AsSpan().ContainsAny(' ', '\n');
        if (level > MostLevels && (isJson || isOneWord || text.Contains('"', StringComparison.Ordinal)))
        {
            return Mask;
        }

        var shown = isJson ? text : isOneWord ? UrlMask.Apply(text, this, level) : UrlMask.OfUrls(text, this, level);
        return shown.Contains('"', StringComparison.Ordinal)
            ? Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(shown), this, level, out _))
            : shown;
    }

    /// <summary>Whether a text begins as JSON does.</summary>
    internal static bool IsLikeJson(string text) => text.AsSpan().TrimStart() is ['{' or '[' or '"', ..];

    /// <summary>Whether a text begins as XML does, after the mark of its encoding.</summary>
    internal static bool IsLikeXml(ReadOnlySpan<byte> text)
    {
        var begin = text.StartsWith("\uFEFF"u8) ? text[3..] : text;
        return begin.TrimStart(" \t\r\n"u8) is [(byte)'<', ..];
    }

    private bool IsSecretPart(string name)
    {
        var plain = Plain(name);
        return (plain.Length > 0 && _patterns.Any(pattern => Matches(plain, pattern)))
            || (name.StartsWith("X-", StringComparison.OrdinalIgnoreCase)
                && _ownFields.Any(end => name.EndsWith(end, StringComparison.OrdinalIgnoreCase)));
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
    private static bool Matches(string text, string[] parts)
    {
        if (parts.Length == 1)
        {
            return text == parts[0];
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
