using System.Collections.Immutable;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of one agent with a token or a certificate.</summary>
internal sealed class AgentEntry(SettingsReader read)
{
    public const string TokenHashKey = "TokenHash";
    public const string FingerprintKey = "CertificateFingerprint";
    public const string CertificateNameKey = "CertificateName";
    public const string TierKey = "Tier";

    private const int MaxCertificateNameLength = 64; // the upper bound of a common name, RFC 5280 appendix A

    public string Id { get; } = read.Name;

    public TokenHash? TokenHash { get; } = read.Value<TokenHash?>(
        TokenHashKey, null, "`sha256:` and 64 hexadecimal digits",
        "the token's SHA-256; `tunnel2-entry token create --name web` makes a token and prints both", ParseTokenHash, isSecret: true);

    public CertificateFingerprint? CertificateFingerprint { get; } = read.Value<CertificateFingerprint?>(
        FingerprintKey, null, "`sha256:` and 64 hexadecimal digits", "lets the agent in by a certificate: its SHA-256", ParseFingerprint);

    public string? CertificateName { get; } = read.Value<string?>(
        CertificateNameKey, null, "a common name", "lets the agent in by a certificate that `Uplink:ClientCa` issued",
        ParseCertificateName);

    public ImmutableArray<NamePattern> Names { get; } = read.List<NamePattern>(
        "Names", "names, `*` for any characters",
        "names that the agent may claim; they are reserved for it. Where several agents list a name, the most specific entry has it: see "
        + "[names](security.md#whose-name-it-is)",
        ParseName, inWords: "any that no agent reserved");

    public int? Sessions { get; } = read.NumberOrNone(
        "Sessions", 1, 1_000_000, "sessions at once of this agent", "`Uplink:SessionsPerAgent`");

    public string? Tier { get; } = read.Text(
        TierKey, "a tier", "what each session of the agent may get: `free`, `pro`, `enterprise` or one of `Tiers`", inWords: "unlimited");

    private static string? ParseTokenHash(string text, out TokenHash? value) => TokenHash.TryParse(text, out value)
        ? null
        : "is not sha256: and 64 hexadecimal digits; it must be the hash of the token, never the token itself.";

    private static string? ParseFingerprint(string text, out CertificateFingerprint? value) =>
        Transport.Tls.CertificateFingerprint.TryParse(text, out value) ? null : "is not sha256: and 64 hexadecimal digits.";

    private static string? ParseCertificateName(string text, out string? value)
    {
        value = text;
        return text.Length > MaxCertificateNameLength || text.Any(char.IsControl)
            ? $"is not a common name of 1 to {MaxCertificateNameLength} characters."
            : null;
    }

    private static string? ParseName(string text, out NamePattern value) =>
        NamePattern.TryParse(text, out value!) ? null : "is not a name or a pattern of [a-z0-9-] and *.";
}
