using System.Buffers.Text;
using System.Collections.Immutable;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Certificates that the server gets from an authority by itself (RFC 8555). Immutable.</summary>
internal sealed class AcmeSettings(SettingsReader read)
{
    private const string DirectoryKey = "Acme:Directory";
    private const string TermsKey = "Acme:AcceptTerms";
    private const string NamesKey = "Acme:Names";
    private const string ChallengeKey = "Acme:Challenge";
    private const string HookKey = "Acme:DnsHook";
    private const string EabIdKey = "Acme:EabKeyId";
    private const string EabKeyKey = "Acme:EabKey";
    private const string CaKey = "Acme:Ca";

    /// <summary>The directory of the authority; null: no certificates of this kind.</summary>
    public Uri? Directory { get; } = read.Value<Uri?>(
        DirectoryKey, null, "letsencrypt, letsencrypt-staging, an https URL",
        "gets certificates for HTTPS from this authority by itself (ACME); see [security](security.md#automatic-certificates). Needs "
        + "`Public:HttpsListen` and `Acme:AcceptTerms`",
        ParseDirectory);

    /// <summary>Whether the operator agrees to the authority's terms.</summary>
    public bool AgreesToTerms { get; } = read.Switch(
        TermsKey, false, "whether you agree to the terms of service of the authority; without it no account is made");

    /// <summary>The address for messages of the authority, or null.</summary>
    public string? Email { get; } = read.Value<string?>(
        "Acme:Email", null, "an address", "where the authority writes to, for example before a certificate ends", ParseEmail);

    /// <summary>The names that always have a certificate.</summary>
    public ImmutableArray<string> Names { get; } = read.List<string>(
        NamesKey, "names, wildcard names",
        "names that get a certificate at the start and keep one, such as `example.com`; a wildcard such as `*.example.com` needs "
        + "`Acme:DnsHook`, and then no other name below it gets one of its own",
        ParseName);

    /// <summary>Whether names of tunnels get a certificate when a visitor asks for them.</summary>
    public bool OnDemand { get; } = read.Switch(
        "Acme:OnDemand", true,
        "whether a name below `Domain`, or a [domain](domains.md) that an agent claims, gets a certificate when a visitor first asks for "
        + "it over HTTPS, if a tunnel has it then. What only a wildcard covers gets none. Until it is there, visitors get that of "
        + "`Public:Certificate`");

    /// <summary>How the authority is shown that a name leads here.</summary>
    public AcmeChallenge Challenge { get; } = (AcmeChallenge)read.Word(
        ChallengeKey, "auto", "a kind of challenge",
        "how the authority checks names: `http-01` at port 80, which has to lead to `Public:HttpListen`; `tls-alpn-01` at port 443, which "
        + "has to lead to `Public:HttpsListen`; `dns-01` by `Acme:DnsHook`. `auto`: `http-01`, or `tls-alpn-01` where `Public:HttpListen` "
        + "is off. Wildcards always use `dns-01`",
        "auto", "http-01", "tls-alpn-01", "dns-01");

    /// <summary>The program that makes and removes TXT records, or null.</summary>
    public string? DnsHook { get; } = read.Text(
        HookKey, "a file",
        "a program that is called as `FILE add NAME VALUE` and `FILE remove NAME VALUE` to make and remove a TXT record; it has 60 s, and "
        + "its output is not logged");

    /// <summary>How long a TXT record may need until all name servers have it.</summary>
    public TimeSpan DnsWait { get; } = read.Duration(
        "Acme:DnsWait", "10s", "0s", "10m", "after the record was made: how long to wait before the authority is asked to look");

    /// <summary>The key id of an account at the authority, or null.</summary>
    public string? EabKeyId { get; } = read.Text(
        EabIdKey, "text", "the key id of your account at the authority (external account binding), where it asks for one");

    /// <summary>The key of that account, or null.</summary>
    public byte[]? EabKey { get; } = read.Value<byte[]?>(
        EabKeyKey, null, "base64url; secret", "the key that belongs to `Acme:EabKeyId`. Give it by environment", ParseKey, isSecret: true);

    /// <summary>The authorities that the directory's own certificate is checked with; null: the system's.</summary>
    public string? Ca { get; } = read.Text(
        CaKey, "a file", "PEM file of the authorities that the directory's own HTTPS is checked with, instead of the system's");

    /// <summary>How many certificates may be ordered in an hour.</summary>
    public int PerHour { get; } = read.Number(
        "Acme:PerHour", 20, 1, 1000, "certificates that are ordered in an hour at most, renewals included; later ones wait");

    /// <summary>How many certificates there may be.</summary>
    public int MaxCertificates { get; } = read.Number(
        "Acme:MaxCertificates", 1000, 1, 10_000, "certificates that are kept at most; further names get none");

    /// <summary>Reports what cannot work together.</summary>
    public void Check(SettingsReader read, bool hasHttp, bool hasHttps)
    {
        if (Directory is null)
        {
            return;
        }

        if (!hasHttps && !read.HasError(SettingKeys.HttpsListen))
        {
            read.Report(DirectoryKey, "gets certificates for HTTPS, but Tunnel2:Public:HttpsListen is off.");
        }

        if (!AgreesToTerms && !read.HasError(TermsKey))
        {
            read.Report(TermsKey, "has to be true: the authority makes an account only for those who agree to its terms of service.");
        }

        if (DnsHook is null && Names.Any(static name => name[0] == '*'))
        {
            read.Report(NamesKey, "has a wildcard, which needs Tunnel2:Acme:DnsHook.");
        }

        if (DnsHook is null && Challenge == AcmeChallenge.Dns01)
        {
            read.Report(ChallengeKey, "is dns-01, which needs Tunnel2:Acme:DnsHook.");
        }

        if (!hasHttp && Challenge == AcmeChallenge.Http01)
        {
            read.Report(ChallengeKey, "is http-01, but Tunnel2:Public:HttpListen is off.");
        }

        if (DnsHook is { } hook && SettingFile.FileMistake(hook) is { } mistake)
        {
            read.Report(HookKey, $"{SettingsErrorFormatter.Quote(hook)} {mistake}");
        }

        if ((EabKeyId is null) != (EabKey is null) && !read.HasError(EabKeyKey))
        {
            read.Report(EabKeyId is null ? EabIdKey : EabKeyKey, "is missing, but its other half is set.");
        }

        CheckCa(read);
    }

    private void CheckCa(SettingsReader read)
    {
        if (Ca is not { } path)
        {
            return;
        }

        var reason = "it has no certificate.";
        try
        {
            if (LoadAuthorities(path).Count > 0)
            {
                return;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or CryptographicException)
        {
            reason = FileFailure.Reason(path, exception);
        }

        read.Report(CaKey, $"{SettingsErrorFormatter.Quote(path)} cannot be used: {reason}");
    }

    /// <summary>Reads the authorities of <see cref="Ca"/>.</summary>
    public static X509Certificate2Collection LoadAuthorities(string path)
    {
        SettingFile.Require(path);
        var authorities = new X509Certificate2Collection();
        authorities.ImportFromPemFile(path);
        return authorities;
    }

    private static string? ParseDirectory(string text, out Uri? value)
    {
        value = text.ToLowerInvariant() switch
        {
            "letsencrypt" => new Uri("https://acme-v02.api.letsencrypt.org/directory"),
            "letsencrypt-staging" => new Uri("https://acme-staging-v02.api.letsencrypt.org/directory"),
            _ => null,
        };
        return value is not null || (Uri.TryCreate(text, UriKind.Absolute, out value) && value.Scheme == Uri.UriSchemeHttps
            && value.UserInfo.Length == 0)
            ? null
            : "is not letsencrypt, letsencrypt-staging or an https URL.";
    }

    private static string? ParseEmail(string text, out string? value)
    {
        value = text;
        var at = text.IndexOf('@', StringComparison.Ordinal);
        return at > 0 && at < text.Length - 1 && text.Length <= 254 && !text.AsSpan().ContainsAnyExceptInRange('!', '~')
            && text.AsSpan().IndexOfAny(",;?<>") < 0
            ? null
            : "is not an address such as admin@example.com.";
    }

    private static string? ParseName(string text, out string value)
    {
        value = text.ToLowerInvariant().TrimEnd('.');
        return IsName(value) ? null : "is not a name such as example.com or *.example.com (xn-- for others).";
    }

    /// <summary>Whether a text is a name, or wildcard name, in lower case.</summary>
    public static bool IsName(string text)
    {
        var rest = text.StartsWith("*.", StringComparison.Ordinal) ? text[2..] : text;
        return rest.Length <= 253 && rest.Contains('.') && !rest.AsSpan().ContainsAnyExcept(_nameCharacters)
            && Uri.CheckHostName(rest) == UriHostNameType.Dns;
    }

    private static readonly System.Buffers.SearchValues<char> _nameCharacters =
        System.Buffers.SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-.");

    private static string? ParseKey(string text, out byte[]? value)
    {
        try
        {
            value = Base64Url.DecodeFromChars(text.Trim().TrimEnd('='));
            return value.Length >= 16 ? null : "is too short for a key.";
        }
        catch (FormatException)
        {
            value = null;
            return "is not base64url.";
        }
    }
}
