using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads who may visit a tunnel. No message shows a password or a hash.</summary>
internal static class AccessOptionsParser
{
    private const string BasicAuth = "--basic-auth";
    private const string Oidc = "--oidc";
    private const string JwtIssuer = "--jwt-issuer";
    private const string JwtAudience = "--jwt-audience";

    /// <summary>Reads users: <c>user:password</c> or <c>user:HASH</c>, a line each.</summary>
    public static string? ReadUsers(string text, ref AgentOptions options)
    {
        var users = new List<AccessUser>();
        foreach (string line in text.Split('\n'))
        {
            if (ReadUser(line, out AccessUser? user) is { } mistake)
            {
                return mistake;
            }

            if (users.Exists(other => other.Name == user!.Name))
            {
                return $"has the user '{user!.Name}' more than once";
            }

            users.Add(user!);
            if (users.Count > AccessRules.MaxUsers)
            {
                return string.Create(CultureInfo.InvariantCulture, $"has more than {AccessRules.MaxUsers} users");
            }
        }

        options = options with { Access = RulesOf(options) with { Users = users } };
        return null;
    }

    /// <summary>Reads the networks that may visit.</summary>
    public static string? ReadAllowed(string text, ref AgentOptions options)
    {
        string? mistake = ReadNetworks(text, out List<AccessNetwork> networks);
        options = options with { Access = RulesOf(options) with { Allowed = networks } };
        return mistake;
    }

    /// <summary>Reads the networks that may not visit.</summary>
    public static string? ReadDenied(string text, ref AgentOptions options)
    {
        string? mistake = ReadNetworks(text, out List<AccessNetwork> networks);
        options = options with { Access = RulesOf(options) with { Denied = networks } };
        return mistake;
    }

    /// <summary>Reads the issuer of visitors' tokens.</summary>
    public static string? ReadIssuer(string text, ref AgentOptions options)
    {
        AccessRules rules = RulesOf(options);
        options = options with { Access = rules with { Tokens = new AccessTokens(text, rules.Tokens?.Audience ?? "") } };
        return AccessTokens.IsText(text) && Uri.TryCreate(text, UriKind.Absolute, out Uri? address)
            && (address.Scheme == Uri.UriSchemeHttps || (address.Scheme == Uri.UriSchemeHttp && address.IsLoopback))
            ? null
            : $"'{text}' is not the https URL of an issuer";
    }

    /// <summary>Reads the audience that visitors' tokens have to be for.</summary>
    public static string? ReadAudience(string text, ref AgentOptions options)
    {
        AccessRules rules = RulesOf(options);
        options = options with { Access = rules with { Tokens = new AccessTokens(rules.Tokens?.Issuer ?? "", text) } };
        return AccessTokens.IsText(text)
            ? null
            : string.Create(
                CultureInfo.InvariantCulture,
                $"'{text}' is not 1 to {AccessTokens.MaxTextLength} characters that a URL may have, without comma");
    }

    /// <summary>Reads the gate where visitors sign in.</summary>
    public static string? ReadGate(string text, ref AgentOptions options)
    {
        options = options with { Access = RulesOf(options) with { Gate = text } };
        return AccessRules.IsGate(text) ? null : $"'{text}' is not the name of a gate: 1 to 32 characters of [a-z0-9-]";
    }

    /// <summary>Checks the rules against each other and against the kind of tunnel.</summary>
    public static void Check(AgentOptions options, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (options.Access is not { } rules)
        {
            return;
        }

        WebhookOptionsParser.Check(options, rules, mistakes);
        ClientCaParser.Check(options, rules, mistakes);
        if (options.Kind != SessionKind.Http && !rules.Policy.IsEmpty)
        {
            mistakes.Add(new OptionMistake("--policy", "belongs to 'http'; other tunnels take --allow-ip and --deny-ip"));
        }

        if (options.Kind != SessionKind.Http && input[BasicAuth] is not null)
        {
            mistakes.Add(new OptionMistake(BasicAuth, "belongs to 'http'; other tunnels take --allow-ip and --deny-ip"));
        }

        CheckTokens(options, rules, input, mistakes);
        CheckGate(options, rules, input, mistakes);
        if (rules.Denied.FirstOrDefault(denied => rules.Allowed.Any(allowed => IsSame(allowed, denied))) is { } both)
        {
            mistakes.Add(new OptionMistake("--deny-ip", $"has {Text(both)}, which --allow-ip has too"));
        }

        // A rule of webhooks that is not complete has its own mistake.
        if (!(rules.Webhook?.IsValid == false ? rules with { Webhook = null } : rules).Fits)
        {
            string flag = rules.Allowed.Count > 0 ? "--allow-ip" : rules.Denied.Count > 0 ? "--deny-ip" : BasicAuth;
            mistakes.Add(new OptionMistake(flag, string.Create(
                CultureInfo.InvariantCulture,
                $"has too many entries: an agent sends at most {AccessRules.MaxNetworks} networks, and {AccessRules.MaxLength} bytes in "
                + $"all (IPv4 8, IPv6 20, a user about 80). A longer list belongs to the server's settings")));
        }
    }

    private static void CheckTokens(AgentOptions options, AccessRules rules, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (rules.Tokens is not { } tokens)
        {
            return;
        }

        string given = tokens.Issuer.Length > 0 ? JwtIssuer : JwtAudience;
        if (tokens.Issuer.Length == 0 || tokens.Audience.Length == 0)
        {
            mistakes.Add(new OptionMistake(given, $"needs {(given == JwtIssuer ? JwtAudience : JwtIssuer)} too"));
        }
        else if (options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake(given, "belongs to 'http'; other tunnels take --allow-ip and --deny-ip"));
        }
        else if (input[BasicAuth] is not null)
        {
            mistakes.Add(new OptionMistake(given, $"contradicts {BasicAuth}: a visitor cannot show both a login and a token"));
        }
    }

    private static void CheckGate(AgentOptions options, AccessRules rules, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (rules.Gate is null)
        {
            return;
        }

        if (options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake(Oidc, "belongs to 'http'; other tunnels take --allow-ip and --deny-ip"));
        }
        else if (input[BasicAuth] is not null || rules.Tokens is not null)
        {
            mistakes.Add(new OptionMistake(Oidc, $"contradicts {(rules.Tokens is null ? BasicAuth : JwtIssuer)}: one of them is enough"));
        }
    }

    private static AccessRules RulesOf(AgentOptions options) => options.Access ?? new AccessRules();

    private static string? ReadUser(string text, out AccessUser? user)
    {
        user = null;
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            return "is not USER:PASSWORD: it has no colon";
        }

        if (!AccessUser.IsName(text.AsSpan(0, colon)))
        {
            return "has a user whose name is not 1 to 64 visible ASCII characters without colon, comma, quote and backslash";
        }

        string secret = text[(colon + 1)..];
        if (secret.StartsWith(PasswordHash.Prefix, StringComparison.Ordinal))
        {
            return AccessUser.TryParse(text, out user)
                ? null
                : $"has a hash for '{text[..colon]}' that is not one; 'tunnel2 hash-password' makes it";
        }

        if (!IsPassword(secret))
        {
            return $"has a password for '{text[..colon]}' that is empty, has control characters, or more than "
                + string.Create(CultureInfo.InvariantCulture, $"{PasswordHash.MaxPasswordLength} bytes");
        }

        user = new AccessUser(text[..colon], PasswordHash.Create(secret));
        return null;
    }

    /// <summary>Whether a text can be a password.</summary>
    internal static bool IsPassword(string text) =>
        text.Length > 0 && !text.Any(char.IsControl) && Encoding.UTF8.GetByteCount(text) <= PasswordHash.MaxPasswordLength;

    private static string? ReadNetworks(string text, out List<AccessNetwork> networks)
    {
        networks = [];
        foreach (string entry in text.Split([',', '\n'], StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
        {
            if (ReadNetwork(entry, out AccessNetwork? network) is { } mistake)
            {
                return mistake;
            }

            networks.Add(network!);
        }

        return networks.Count == 0 ? "has no address and no network" : null;
    }

    private static string? ReadNetwork(string text, out AccessNetwork? network)
    {
        string? mistake = AddressText.ReadNetwork(text, out IPNetwork read);
        network = mistake is null ? AccessNetwork.Create(read.BaseAddress.GetAddressBytes(), read.PrefixLength) : null;
        return mistake is null ? null : $"'{text}' {mistake}";
    }

    private static bool IsSame(AccessNetwork a, AccessNetwork b) =>
        a.PrefixLength == b.PrefixLength && a.Address.SequenceEqual(b.Address);

    private static string Text(AccessNetwork network) =>
        string.Create(CultureInfo.InvariantCulture, $"{new IPAddress(network.Address)}/{network.PrefixLength}");
}
