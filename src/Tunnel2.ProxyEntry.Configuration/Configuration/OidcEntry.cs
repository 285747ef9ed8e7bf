using System.Collections.Immutable;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of one gate, where visitors sign in at an OpenID Connect provider.</summary>
internal sealed class OidcEntry(SettingsReader read)
{
    private const string AuthorityKey = "Authority";
    private const string ClientIdKey = "ClientId";
    private const string SecretKey = "ClientSecretFile";
    private const string EmailsKey = "AllowEmails";
    private const int MaxNameLength = 32;
    private const int LongestSecret = 4 * 1024;

    /// <summary>The name by which agents and the server's rules ask for the gate.</summary>
    public string Name { get; } = read.Name;

    /// <summary>The provider.</summary>
    public Uri? Authority { get; } = read.Value<Uri?>(
        AuthorityKey, null, "https URL; http for loopback only",
        "the OpenID Connect provider at which visitors of a tunnel sign in that asks for this gate; see [sign-in](access.md#sign-in)",
        ParseAuthority);

    /// <summary>The id that the provider gave this server.</summary>
    public string? ClientId { get; } = read.Text(ClientIdKey, "text", "the id that the provider gave this server");

    /// <summary>The file with the secret that the provider gave this server.</summary>
    public string? SecretFile { get; } = read.Text(
        SecretKey, "a file", "the file with the secret that the provider gave this server; without one the server is a public client");

    /// <summary>The scopes to ask for.</summary>
    public ImmutableArray<string> Scopes { get; } = read.List<string>(
        "Scopes", "words", "what to ask the provider for beside `openid`; `groups` where the provider wants that word for `AllowGroups`",
        ParseScope, inWords: "`email`");

    /// <summary>The addresses that may enter.</summary>
    public ImmutableArray<string> Emails { get; } = read.List<string>(
        EmailsKey, "addresses, `*`", "addresses of mail that may enter; `*`: everybody whom the provider knows", ParseEmail);

    /// <summary>The domains that may enter.</summary>
    public ImmutableArray<string> Domains { get; } = read.List<string>(
        "AllowDomains", "domains", "domains whose addresses of mail may enter; not those below them", ParseDomain);

    /// <summary>The groups that may enter.</summary>
    public ImmutableArray<string> Groups { get; } = read.List<string>(
        "AllowGroups", "groups", "groups (claim `groups`) that may enter", ParseGroup);

    /// <summary>Whether an address counts that the provider does not call verified.</summary>
    public bool TrustsEmails { get; } = read.Switch(
        "TrustUnverifiedEmails", false,
        "takes addresses of mail that the provider does not call verified. Only where no user can choose the own address");

    /// <summary>How long a session lasts.</summary>
    public TimeSpan Lifetime { get; } = read.Duration(
        "Session", "8h", "1m", "720h", "how long a visitor stays signed in; afterwards the provider is asked again");

    /// <summary>The secret; null: there is none.</summary>
    public string? Secret { get; private set; }

    /// <summary>Checks all gates, and reads their secrets.</summary>
    public static void Check(SettingsReader read, IReadOnlyList<OidcEntry> entries)
    {
        foreach (var entry in entries)
        {
            entry.Check(read);
        }
    }

    private void Check(SettingsReader read)
    {
        var path = $"{SettingKeys.Oidc}:{Name}";
        if (!IsName(Name))
        {
            read.Report(path, $"has a name that is not 1 to {MaxNameLength} characters of [a-z0-9-].");
        }

        foreach (var key in new[] { AuthorityKey, ClientIdKey })
        {
            if (!read.IsGiven($"{path}:{key}"))
            {
                read.Report($"{path}:{key}", "is missing; a gate needs it.");
            }
        }

        // Many providers know everybody: without a list, that would be who may enter.
        if (Emails.IsEmpty && Domains.IsEmpty && Groups.IsEmpty && !read.HasError($"{path}:{EmailsKey}"))
        {
            read.Report(
                $"{path}:{EmailsKey}",
                "is missing, and so are AllowDomains and AllowGroups: no visitor could enter. * lets in all whom the provider knows.");
        }

        if (SecretFile is { } file)
        {
            ReadSecret(read, $"{path}:{SecretKey}", file);
        }
    }

    private void ReadSecret(SettingsReader read, string key, string file)
    {
        try
        {
            SettingFile.Require(file);
            using var stream = File.OpenRead(file);
            if (stream.Length > LongestSecret)
            {
                read.Report(key, $"is a file of more than {LongestSecret} bytes.");
                return;
            }

            using var reader = new StreamReader(stream);
            Secret = reader.ReadToEnd().Trim();
            if (Secret.Length == 0)
            {
                read.Report(key, "is an empty file.");
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            read.Report(key, $"{SettingsErrorFormatter.Quote(file)} cannot be read: {FileFailure.Reason(file, exception)}");
        }
    }

    /// <summary>Whether a text can be the name of a gate.</summary>
    private static bool IsName(string text) => Protocol.Handshake.AccessRules.IsGate(text);

    private static string? ParseAuthority(string text, out Uri? value)
    {
        value = Agents.TokenIssuer.AddressOf(text);
        return value is { Query: "" } ? null : "is not an https URL; http is for loopback only.";
    }

    private static string? ParseScope(string text, out string value)
    {
        value = text;
        return text.Length is > 0 and <= 100 && !text.AsSpan().ContainsAnyExceptInRange('!', '~') && text.AsSpan().IndexOfAny("\"\\") < 0
            ? null
            : "is not a scope.";
    }

    private static string? ParseEmail(string text, out string value)
    {
        value = text;
        var at = text.IndexOf('@', StringComparison.Ordinal);
        return text == "*" || (at > 0 && at < text.Length - 1 && text.Length <= 254 && !text.AsSpan().ContainsAnyExceptInRange('!', '~'))
            ? null
            : "is not an address such as alice@example.com, nor *.";
    }

    private static string? ParseDomain(string text, out string value)
    {
        value = text.TrimStart('@');
        return value.Contains('.', StringComparison.Ordinal) && Uri.CheckHostName(value) == UriHostNameType.Dns
            ? null
            : "is not a domain such as example.com.";
    }

    private static string? ParseGroup(string text, out string value)
    {
        value = text;
        return text.Length is > 0 and <= 256 ? null : "is not a group of 1 to 256 characters.";
    }
}
