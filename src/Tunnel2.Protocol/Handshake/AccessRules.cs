using System.Buffers;
using System.Text;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// Who may visit a tunnel, as its agent says it in HELLO (docs/protocol.md, "Access rules"). An item that a server does not know makes it
/// refuse the session: a rule is never left out. Immutable.
/// </summary>
public sealed record AccessRules
{
    /// <summary>The maximum number of bytes that users and networks may take in HELLO.</summary>
    public const int MaxLength = 2_560;

    /// <summary>The maximum number of bytes of a policy.</summary>
    public const int MaxPolicyLength = 16 * 1024;

    /// <summary>The maximum number of bytes that all rules may take in HELLO.</summary>
    public const int MaxTotalLength = MaxLength + ItemHead + MaxPolicyLength + ItemHead + WebhookRule.MaxLength
        + (MaxAuthorities * (ItemHead + MaxAuthorityLength));

    /// <summary>The maximum number of authorities of visitors' certificates.</summary>
    public const int MaxAuthorities = 4;

    /// <summary>The maximum number of bytes of the certificate of one.</summary>
    public const int MaxAuthorityLength = 2_048;

    /// <summary>The maximum number of users.</summary>
    public const int MaxUsers = 16;

    /// <summary>The maximum number of networks, allowed and denied together.</summary>
    public const int MaxNetworks = 200;

    /// <summary>The longest name of a gate.</summary>
    public const int MaxGateLength = 32;

    private const byte UserItem = 1;
    private const byte AllowedItem = 2;
    private const byte DeniedItem = 3;
    private const byte PolicyItem = 4;
    private const byte WebhookItem = 5;
    private const byte TokensItem = 8;
    private const byte GateItem = 9;
    private const byte AuthorityItem = 10;
    private const byte Pbkdf2 = 1;

    /// <summary>Bytes before an item's value: its kind and its length.</summary>
    private const int ItemHead = 3;

    private static readonly SearchValues<char> _gateCharacters = SearchValues.Create("-0123456789abcdefghijklmnopqrstuvwxyz");

    /// <summary>Those who may log in; empty: no login is needed.</summary>
    public IReadOnlyList<AccessUser> Users { get; init; } = [];

    /// <summary>The networks that may visit; empty: all.</summary>
    public IReadOnlyList<AccessNetwork> Allowed { get; init; } = [];

    /// <summary>The networks that may not visit, allowed or not.</summary>
    public IReadOnlyList<AccessNetwork> Denied { get; init; } = [];

    /// <summary>The tokens that visitors have to show; null: none.</summary>
    public AccessTokens? Tokens { get; init; }

    /// <summary>The server's gate where visitors sign in; null: none.</summary>
    public string? Gate { get; init; }

    /// <summary>The certificates (DER) of the authorities that issue visitors' certificates; empty: a visitor needs none.</summary>
    public IReadOnlyList<ReadOnlyMemory<byte>> ClientAuthorities { get; init; } = [];

    /// <summary>The policy: JSON in UTF-8, which the server judges; empty: none. It may have secrets.</summary>
    public ReadOnlyMemory<byte> Policy { get; init; }

    /// <summary>Which signature the requests need; null: none.</summary>
    public WebhookRule? Webhook { get; init; }

    /// <summary>Whether there was an item that this version does not know.</summary>
    public bool HasUnknown { get; init; }

    /// <summary>Whether there is no rule.</summary>
    public bool IsEmpty => !HasLists && Policy.IsEmpty && Webhook is null && !HasUnknown;

    /// <summary>Whether there is a rule about who may visit.</summary>
    public bool HasLists => Users.Count > 0 || Allowed.Count > 0 || Denied.Count > 0 || Tokens is not null || Gate is not null
        || ClientAuthorities.Count > 0;

    /// <summary>Whether the rules fit into HELLO.</summary>
    public bool Fits => Users.Count <= MaxUsers
        && Allowed.Count + Denied.Count <= MaxNetworks
        && LengthOf(this) <= MaxLength
        && Policy.Length <= MaxPolicyLength
        && ClientAuthorities.Count <= MaxAuthorities
        && ClientAuthorities.All(static one => one.Length is > 0 and <= MaxAuthorityLength)
        && Webhook?.IsValid != false;

    /// <summary>How many users and networks there are.</summary>
    public override string ToString() =>
        FormattableString.Invariant($"{Users.Count} users, {Allowed.Count} networks allowed, {Denied.Count} denied")
        + (Tokens is { } tokens ? $", tokens of {tokens.Issuer}" : "")
        + (Gate is { } gate ? $", sign-in at {gate}" : "")
        + (ClientAuthorities.Count == 0 ? "" : FormattableString.Invariant($", certificates of {ClientAuthorities.Count} authorities"))
        + (Webhook is null ? "" : $", webhooks of {Webhook}")
        + (Policy.IsEmpty ? "" : FormattableString.Invariant($", {Policy.Length} bytes of policy"));

    /// <summary>Whether a text can be the name of a gate: 1 to 32 characters of [a-z0-9-], no hyphen at an end.</summary>
    public static bool IsGate(ReadOnlySpan<char> text) => text.Length is > 0 and <= MaxGateLength && text[0] != '-' && text[^1] != '-'
        && !text.ContainsAnyExcept(_gateCharacters);

    internal byte[] ToBytes()
    {
        var buffer = new byte[LengthOf(this) + ItemHead + Policy.Length + ItemHead + LengthOf(Webhook)
            + ClientAuthorities.Sum(static one => ItemHead + one.Length)];
        var writer = new HandshakeWriter(buffer);
        foreach (var user in Users)
        {
            writer.Byte(UserItem);
            writer.UInt16((ushort)LengthOf(user));
            writer.Short(user.Name);
            writer.Byte(Pbkdf2);
            writer.UInt32((uint)user.Hash.Iterations);
            writer.Short(user.Hash.Salt);
            writer.Fixed(user.Hash.Digest, PasswordHash.DigestLength);
        }

        Write(ref writer, AllowedItem, Allowed);
        Write(ref writer, DeniedItem, Denied);
        if (!Policy.IsEmpty)
        {
            writer.Byte(PolicyItem);
            writer.Long(Policy.Span);
        }

        if (Webhook is { } webhook)
        {
            writer.Byte(WebhookItem);
            writer.UInt16((ushort)LengthOf(webhook));
            writer.Byte((byte)webhook.Provider);
            foreach (var secret in webhook.Secrets)
            {
                writer.Short(secret.Span);
            }
        }

        if (Tokens is { } tokens)
        {
            writer.Byte(TokensItem);
            writer.UInt16((ushort)LengthOf(tokens));
            writer.Short(tokens.Issuer);
            writer.Short(tokens.Audience);
        }

        if (Gate is { } gate)
        {
            writer.Byte(GateItem);
            writer.UInt16((ushort)gate.Length);
            writer.Raw(Encoding.UTF8.GetBytes(gate));
        }

        foreach (var authority in ClientAuthorities)
        {
            writer.Byte(AuthorityItem);
            writer.Long(authority.Span);
        }

        return buffer[..writer.Length];
    }

    /// <summary>Reads the rules.</summary>
    /// <returns>Null when they are malformed.</returns>
    internal static AccessRules? TryRead(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > MaxTotalLength)
        {
            return null;
        }

        var users = new List<AccessUser>();
        var allowed = new List<AccessNetwork>();
        var denied = new List<AccessNetwork>();
        var policy = ReadOnlyMemory<byte>.Empty;
        WebhookRule? webhook = null;
        var lists = 0;
        AccessTokens? tokens = null;
        string? gate = null;
        var authorities = new List<ReadOnlyMemory<byte>>();
        var hasUnknown = false;
        while (!bytes.IsEmpty)
        {
            var reader = new HandshakeReader(bytes);
            var kind = reader.Byte();
            var value = reader.Long();
            if (reader.Failed)
            {
                return null;
            }

            bytes = bytes[(ItemHead + value.Length)..];
            lists += kind is PolicyItem or WebhookItem or AuthorityItem ? 0 : ItemHead + value.Length;
            switch (kind)
            {
                case UserItem:
                    if (!TryReadUser(value, out var user))
                    {
                        return null;
                    }

                    hasUnknown |= user is null;
                    users.AddRange(user is null ? [] : [user]);
                    break;
                case AllowedItem or DeniedItem:
                    if (value.IsEmpty || AccessNetwork.Create(value[1..], value[0]) is not { } network)
                    {
                        return null;
                    }

                    (kind == AllowedItem ? allowed : denied).Add(network);
                    break;
                case TokensItem:
                    if (tokens is not null || !TryReadTokens(value, out tokens))
                    {
                        return null;
                    }

                    break;
                case GateItem:
                    if (gate is not null || !IsGate(gate = Encoding.Latin1.GetString(value)))
                    {
                        return null;
                    }

                    break;
                case AuthorityItem:
                    if (value.Length is 0 or > MaxAuthorityLength || authorities.Count == MaxAuthorities)
                    {
                        return null;
                    }

                    authorities.Add(value.ToArray());
                    break;
                case PolicyItem:
                    if (value.Length is 0 or > MaxPolicyLength || !policy.IsEmpty)
                    {
                        return null;
                    }

                    policy = value.ToArray();
                    break;
                case WebhookItem:
                    if (webhook is not null || !TryReadWebhook(value, out webhook))
                    {
                        return null;
                    }

                    hasUnknown |= webhook is null;
                    break;
                default:
                    hasUnknown = true;
                    break;
            }
        }

        return lists > MaxLength
            || users.Count > MaxUsers
            || allowed.Count + denied.Count > MaxNetworks
            || users.DistinctBy(static user => user.Name).Count() < users.Count
            ? null
            : new AccessRules
            {
                Users = users,
                Allowed = allowed,
                Denied = denied,
                Tokens = tokens,
                Gate = gate,
                ClientAuthorities = authorities,
                Policy = policy,
                Webhook = webhook,
                HasUnknown = hasUnknown,
            };
    }

    /// <summary>Reads a rule about signatures; null when its provider is not known.</summary>
    private static bool TryReadWebhook(ReadOnlySpan<byte> value, out WebhookRule? rule)
    {
        rule = null;
        var secrets = new List<ReadOnlyMemory<byte>>();
        if (value.IsEmpty || value.Length > WebhookRule.MaxLength)
        {
            return false;
        }

        var provider = (WebhookProvider)value[0];
        for (value = value[1..]; !value.IsEmpty; value = value[(1 + secrets[^1].Length)..])
        {
            if (value.Length <= value[0])
            {
                return false;
            }

            secrets.Add(value.Slice(1, value[0]).ToArray());
        }

        if (provider is < WebhookProvider.GitHub or > WebhookProvider.Standard)
        {
            return true;
        }

        rule = new WebhookRule(provider, secrets);
        return rule.IsValid;
    }

    /// <summary>Reads a user; null when the algorithm of its hash is not known.</summary>
    private static bool TryReadUser(ReadOnlySpan<byte> value, out AccessUser? user)
    {
        user = null;
        var reader = new HandshakeReader(value);
        var name = Encoding.Latin1.GetString(reader.Short());
        if (reader.Byte() != Pbkdf2)
        {
            return !reader.Failed;
        }

        var iterations = reader.UInt32();
        var salt = reader.Short();
        var digest = reader.Raw(PasswordHash.DigestLength);
        if (reader.Failed
            || !AccessUser.IsName(name)
            || !PasswordHash.AreIterations(iterations)
            || salt.Length is < PasswordHash.LeastSalt or > PasswordHash.MostSalt)
        {
            return false;
        }

        user = new AccessUser(name, new PasswordHash((int)iterations, salt.ToArray(), digest.ToArray()));
        return true;
    }

    private static bool TryReadTokens(ReadOnlySpan<byte> value, out AccessTokens? tokens)
    {
        var reader = new HandshakeReader(value);
        tokens = new AccessTokens(Encoding.Latin1.GetString(reader.Short()), Encoding.Latin1.GetString(reader.Short()));
        return !reader.Failed && AccessTokens.IsText(tokens.Issuer) && AccessTokens.IsText(tokens.Audience);
    }

    private static void Write(ref HandshakeWriter writer, byte kind, IReadOnlyList<AccessNetwork> networks)
    {
        foreach (var network in networks)
        {
            writer.Byte(kind);
            writer.UInt16((ushort)(1 + network.Address.Length));
            writer.Byte(network.PrefixLength);
            writer.Raw(network.Address);
        }
    }

    private static int LengthOf(AccessRules rules) =>
        rules.Users.Sum(static user => ItemHead + LengthOf(user))
        + rules.Allowed.Concat(rules.Denied).Sum(static network => ItemHead + 1 + network.Address.Length)
        + (rules.Tokens is { } tokens ? ItemHead + LengthOf(tokens) : 0)
        + (rules.Gate is { } gate ? ItemHead + gate.Length : 0);

    private static int LengthOf(AccessTokens tokens) => 1 + tokens.Issuer.Length + 1 + tokens.Audience.Length;

    private static int LengthOf(WebhookRule? rule) => 1 + (rule?.Secrets.Sum(static secret => 1 + secret.Length) ?? 0);

    private static int LengthOf(AccessUser user) =>
        1 + user.Name.Length + 1 + sizeof(uint) + 1 + user.Hash.Salt.Length + PasswordHash.DigestLength;
}
