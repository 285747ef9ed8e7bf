using System.Security.Cryptography;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// The rule for public names: 1–50 characters of <c>[a-z0-9-]</c>, no <c>-</c> at either end. The server checks
/// that a name does not end in its entry id.
/// </summary>
internal static class AgentName
{
    public const int MinLength = 1;
    public const int MaxLength = 50;
    public const int RandomLength = 10;

    private const string RandomAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

    /// <summary>10 random characters of <c>[a-z0-9]</c>: 51 bits, so that an anonymous tunnel's address cannot be guessed.</summary>
    public static string CreateRandom() => RandomNumberGenerator.GetString(RandomAlphabet, RandomLength);

    /// <summary>Reads a name in any case (host names have none) and returns it in lower case.</summary>
    /// <returns>Null and a <paramref name="name"/>, or what is wrong.</returns>
    public static string? TryParse(string text, out string name)
    {
        name = text.ToLowerInvariant();
        bool isValid = name.Length is >= MinLength and <= MaxLength
            && name.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-')
            && name[0] != '-'
            && name[^1] != '-';
        return isValid ? null : $"'{text}' is not a name: {MinLength} to {MaxLength} characters of a-z, 0-9 and -, no - at either end";
    }

    /// <summary>
    /// Reads the name from a public URL or host: <c>web</c> from <c>https://web.example.com:8443/</c>, <c>web.example.com</c> or
    /// <c>web</c>.
    /// </summary>
    /// <returns>Null and a <paramref name="name"/>, or what is wrong.</returns>
    public static string? TryParseUrl(string text, out string name)
    {
        name = "";
        string rest = text;
        int scheme = text.IndexOf("://", StringComparison.Ordinal);
        if (scheme >= 0)
        {
            if (!text.StartsWith("http://", StringComparison.OrdinalIgnoreCase)
                && !text.StartsWith("https://", StringComparison.OrdinalIgnoreCase))
            {
                return $"'{text[..(scheme + 3)]}' is not http:// or https://";
            }

            rest = text[(scheme + 3)..];
        }

        if (rest.EndsWith('/'))
        {
            rest = rest[..^1];
        }

        string? mistake = HostPort.TrySplit(rest, out string host, out _);
        if (mistake is not null)
        {
            return $"{mistake}; give the public URL, such as https://web.example.com";
        }

        if (HostPort.IsIPv6(host) || System.Net.IPAddress.TryParse(host, out _))
        {
            return $"'{host}' is an address, so it holds no name";
        }

        int dot = host.IndexOf('.', StringComparison.Ordinal);
        return TryParse(dot < 0 ? host : host[..dot], out name);
    }
}
