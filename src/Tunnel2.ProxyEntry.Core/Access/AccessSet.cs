using System.Collections.Frozen;
using System.Net;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Bearer;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>The rules of one side: of the agent, or of the server for its token. Immutable except for what its users remember.</summary>
internal sealed class AccessSet
{
    private readonly NetworkSet? _allowed;
    private readonly NetworkSet? _denied;
    private readonly FrozenDictionary<string, BasicUser> _users;
    private readonly BasicUser? _anyUser;

    /// <param name="users">Those who may log in; empty: no login is needed.</param>
    /// <param name="allowed">Networks that may visit; empty: all.</param>
    /// <param name="denied">Networks that may not visit, allowed or not.</param>
    public AccessSet(
        IReadOnlyCollection<AccessUser> users, IReadOnlyCollection<IPNetwork> allowed, IReadOnlyCollection<IPNetwork> denied)
    {
        _allowed = NetworkSet.Of(allowed);
        _denied = NetworkSet.Of(denied);
        _users = users.ToFrozenDictionary(static user => user.Name, static user => new BasicUser(user), StringComparer.Ordinal);
        _anyUser = _users.Values.FirstOrDefault();
    }

    /// <summary>The rules that an agent sent; null if there is none.</summary>
    /// <param name="rules">The rules.</param>
    /// <param name="tokens">Its rule about tokens, with the issuer of the server's settings.</param>
    public static AccessSet? Of(AccessRules? rules, BearerRule? tokens = null) => rules is null or { HasLists: false }
        ? null
        : new AccessSet([.. rules.Users], [.. rules.Allowed.Select(NetworkOf)], [.. rules.Denied.Select(NetworkOf)])
        {
            Tokens = tokens,
            Gate = rules.Gate,
            Authorities = ClientAuthoritySet.TryRead(rules.ClientAuthorities),
        };

    /// <summary>The gate where visitors sign in; null: none.</summary>
    public string? Gate { get; init; }

    /// <summary>The tokens that visitors have to show; null: none.</summary>
    public BearerRule? Tokens { get; init; }

    /// <summary>The authorities that issue visitors' certificates; null: none is needed.</summary>
    public ClientAuthoritySet? Authorities { get; init; }

    /// <summary>Whether it has a rule about addresses.</summary>
    public bool LimitsAddresses => _allowed is not null || _denied is not null;

    /// <summary>Whether a login is needed.</summary>
    public bool NeedsLogin => _anyUser is not null;

    /// <summary>Whether an address may visit. One that is not known may not, where there is a rule about addresses.</summary>
    public bool Allows(IPAddress? address) => address is null
        ? !LimitsAddresses
        : _denied?.Contains(address) != true && _allowed?.Contains(address) != false;

    /// <summary>The user with a name, or null.</summary>
    /// <param name="name">The name, in bytes as the visitor wrote it.</param>
    public BasicUser? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length > AccessUser.MaxNameLength)
        {
            return null;
        }

        Span<char> characters = stackalloc char[AccessUser.MaxNameLength];
        var length = Encoding.Latin1.GetChars(name, characters);
        return _users.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(characters[..length], out var user) ? user : null;
    }

    /// <summary>
    /// Computes the slow hash of a login. For a user who does not exist it takes as long, so that the time does not say who exists.
    /// </summary>
    /// <param name="login">The login.</param>
    public bool Matches(BasicLogin login)
    {
        var user = Find(login.User);
        var isRight = (user ?? _anyUser!).Matches(login.Password);
        if (user is null || !isRight)
        {
            return false;
        }

        user.Remember(login.Key, login.From);
        return true;
    }

    private static IPNetwork NetworkOf(AccessNetwork network) => new(new IPAddress(network.Address), network.PrefixLength);
}
