using System.Buffers;
using System.Collections.Frozen;
using System.Text;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>One gate: who may enter, and for how long. Thread-safe.</summary>
internal sealed class OidcGate
{
    /// <summary>Requests for a gate's paths that run at once.</summary>
    public const int MostVisits = 64;

    /// <summary>Cookies that are opened at once, or wait for it.</summary>
    public const int MostOpenings = 256;

    private const int LongestEmail = 254;

    /// <summary>What an address has in quotes alone (RFC 5322, 3.2.3), and what is between addresses.</summary>
    private static readonly SearchValues<char> _special = SearchValues.Create("\"(),:;<>[\\]");

    private readonly FrozenSet<string> _emails;
    private readonly FrozenSet<string> _domains;
    private readonly FrozenSet<string> _groups;

    public OidcGate(OidcEntry entry)
    {
        Entry = entry;
        _emails = entry.Emails.ToFrozenSet(StringComparer.OrdinalIgnoreCase);
        _domains = entry.Domains.ToFrozenSet(StringComparer.OrdinalIgnoreCase);
        _groups = entry.Groups.ToFrozenSet(StringComparer.Ordinal);
    }

    /// <summary>Its settings.</summary>
    public OidcEntry Entry { get; }

    /// <summary>The requests for its paths that run.</summary>
    public OidcVisits Visits { get; } = new(MostVisits);

    /// <summary>The cookies that are opened, or wait for it.</summary>
    public OidcVisits Openings { get; } = new(MostOpenings);

    /// <summary>Which of a user's groups count here: the others need not be remembered.</summary>
    public string[] Known(IEnumerable<string> groups) => [.. groups.Where(_groups.Contains).Distinct(StringComparer.Ordinal)];

    /// <summary>Whether a user may enter.</summary>
    /// <param name="email">The address of mail, which was verified.</param>
    /// <param name="groups">The groups.</param>
    public bool Allows(string email, IEnumerable<string> groups) =>
        _emails.Contains("*")
        || _emails.Contains(email)
        || _domains.Contains(email[(email.LastIndexOf('@') + 1)..])
        || groups.Any(_groups.Contains);

    /// <summary>
    /// An address as the value of a field; null when it cannot be one, or when others could read it as two, or as one of another domain:
    /// a provider that sends its mail to <c>me@evil.example,a@example.com</c> has verified the first of them.
    /// </summary>
    public static byte[]? UserOf(string? email) =>
        email is { Length: > 2 and <= LongestEmail } && email.AsSpan().Count('@') == 1
        && !email.AsSpan().ContainsAnyExceptInRange('!', '~') && !email.AsSpan().ContainsAny(_special)
            ? Encoding.ASCII.GetBytes(email)
            : null;
}
