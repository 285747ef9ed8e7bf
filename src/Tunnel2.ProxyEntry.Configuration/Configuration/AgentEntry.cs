using System.Collections.Immutable;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Outputs;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of one agent with a token or a certificate.</summary>
internal sealed class AgentEntry(SettingsReader read)
{
    public const string TokenHashKey = "TokenHash";
    public const string FingerprintKey = "CertificateFingerprint";
    public const string CertificateNameKey = "CertificateName";
    public const string TierKey = "Tier";
    public const string BasicAuthKey = "BasicAuth";
    public const string NamesKey = "Names";
    public const string AllowIpKey = "AllowIp";
    public const string DenyIpKey = "DenyIp";
    public const string PolicyKey = "Policy";
    public const string VerifyWebhookKey = "VerifyWebhook";
    public const string WebhookSecretFileKey = "WebhookSecretFile";
    public const string JwtIssuerKey = "JwtIssuer";
    public const string OidcKey = "Oidc";
    public const string ClientCaKey = "ClientCa";
    public const string JwtAudienceKey = "JwtAudience";

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
        NamesKey, "names, `*` for any characters; domains, `*.` for all below",
        "names that the agent may claim; they are reserved for it. Also [domains of its own](domains.md): `app.example.org`, "
        + "`*.example.org` (all below it), `*.*` (any). Where several agents list a name, the most specific entry has it: see "
        + "[names](security.md#whose-name-it-is)",
        ParseName, inWords: "any that no agent reserved");

    public int? Sessions { get; } = read.NumberOrNone(
        "Sessions", 1, 1_000_000, "sessions at once of this agent", "`Uplink:SessionsPerAgent`");

    public string? Tier { get; } = read.Text(
        TierKey, "a tier", "what each session of the agent may get: `free`, `pro`, `enterprise` or one of `Tiers`", inWords: "unlimited");

    public ImmutableArray<AccessUser> Users { get; } = read.List<AccessUser>(
        BasicAuthKey, "`user:hash`, as `tunnel2 hash-password` prints it; secret",
        "users who may visit the agent's tunnels of HTTP, by name and password; where the agent lists users too, a visitor has to be in "
        + "both lists; see [access](access.md)",
        ParseUser, isSecret: true);

    public ImmutableArray<IPNetwork> Allowed { get; } = read.List<IPNetwork>(
        AllowIpKey, "addresses, networks (CIDR)",
        "networks that may visit the agent's tunnels; where the agent allows networks too, both have to allow",
        SettingValues.ParseNetwork, inWords: "all");

    public ImmutableArray<IPNetwork> Denied { get; } = read.List<IPNetwork>(
        DenyIpKey, "addresses, networks (CIDR)", "networks that may not visit the agent's tunnels, allowed or not",
        SettingValues.ParseNetwork);

    public Policy? Policy { get; } = read.Value<Policy?>(
        PolicyKey, null, "a file",
        "the policy of the agent's tunnels of HTTP, before the agent's own: see [policies](policies.md). The file is read together with "
        + "the settings",
        ParsePolicy);

    /// <summary>Who signs the requests to its tunnels; an index of <see cref="WebhookSecrets.Providers"/>.</summary>
    public WebhookProvider WebhookProvider { get; } = read.Value<WebhookProvider>(
        VerifyWebhookKey, null, "github, gitlab, stripe, slack, twilio, standard",
        "requests to the agent's tunnels of HTTP have to be signed by this provider of webhooks: see [webhooks](webhooks.md)",
        ParseProvider);

    public IReadOnlyList<ReadOnlyMemory<byte>>? WebhookSecretList { get; } = read.Value<IReadOnlyList<ReadOnlyMemory<byte>>?>(
        WebhookSecretFileKey, null, "a file", "its secrets, one in each line, at most 4. The file is read together with the settings",
        ParseSecrets);

    private static string? ParseSecrets(string path, out IReadOnlyList<ReadOnlyMemory<byte>>? value)
    {
        value = null;
        if (TryReadFile(path, WebhookSecrets.MaxFileLength, out var text) is { } problem)
        {
            return problem;
        }

        var mistake = WebhookSecrets.Parse(text, out var secrets);
        value = secrets;
        return mistake is null ? null : mistake + ".";
    }

    private static string? ParseProvider(string text, out WebhookProvider value) =>
        WebhookSecrets.ParseProvider(text, out value) is { } mistake ? mistake + "." : null;

    private static string? ParsePolicy(string path, out Policy? value)
    {
        value = null;
        if (TryReadFile(path, Policy.MaxFileLength, out var text) is { } problem)
        {
            return problem;
        }

        var reading = PolicyReader.Read(text);
        value = reading.Policy;
        return value is null ? $"has mistakes: {string.Join("; ", reading.Mistakes)}." : null;
    }

    private static string? TryReadFile(string path, int most, out byte[] text)
    {
        text = [];
        try
        {
            SettingFile.Require(path);
            using var file = File.OpenRead(path);
            var buffer = new byte[most + 1];
            text = buffer[..file.ReadAtLeast(buffer, buffer.Length, throwOnEndOfStream: false)];
            return text.Length > most ? FormattableString.Invariant($"is longer than {most} bytes.") : null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return $"cannot be read: {FileFailure.Reason(path, exception)}";
        }
    }

    public TokenIssuer? JwtIssuer { get; } = read.Value<TokenIssuer?>(
        JwtIssuerKey, null, TokenIssuer.Forms,
        "visitors of the agent's tunnels of HTTP show a token (JWT) of this issuer; where the agent asks for tokens too, one token has to "
        + "suit both. After a space may follow where its keys are; see [tokens](access.md#tokens)",
        TokenIssuer.Parse);

    public string? JwtAudience { get; } = read.Value<string?>(
        JwtAudienceKey, null, "text", "the audience (`aud`) that these tokens have to be for; `JwtIssuer` needs it", ParseAudience);

    public string? Oidc { get; } = read.Text(
        OidcKey, "a name of `Oidc`", "the gate where visitors of the agent's tunnels of HTTP sign in; see [sign-in](access.md#sign-in)");

    public X509Certificate2Collection? VisitorAuthorities { get; } = read.Value<X509Certificate2Collection?>(
        ClientCaKey, null, "a file",
        "visitors of the agent's tunnels of HTTP show a certificate of these authorities (PEM) in the TLS handshake; where the agent names "
        + "authorities too, both have to have issued it; see [certificates](access.md#certificates). The file is read together with the "
        + "settings",
        ParseAuthorities);

    private static string? ParseAuthorities(string path, out X509Certificate2Collection? value) =>
        ClientAuthorities.TryLoad(path, out value, out var problem) ? null : $"cannot be used: {problem}";

    private static string? ParseAudience(string text, out string? value)
    {
        value = text;
        return AccessTokens.IsText(text)
            ? null
            : $"is not 1 to {AccessTokens.MaxTextLength} characters that a URL may have, without comma.";
    }

    private static string? ParseUser(string text, out AccessUser value) => AccessUser.TryParse(text, out value!)
        ? null
        : "is not a user's name, a colon and the hash of the password; tunnel2 hash-password makes it. It must never be the password "
            + "itself.";

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
        NamePattern.TryParse(text, out value!) ? null : $"is not {NamePattern.Form}.";
}
