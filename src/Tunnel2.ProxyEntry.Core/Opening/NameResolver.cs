using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>Finds the session for a request. Thread-safe; allocates nothing for an ordinary Host.</summary>
internal sealed class NameResolver
{
    /// <summary>Agents connect again in this time after a start, so every name counts as known.</summary>
    private static readonly TimeSpan _startPhase = TimeSpan.FromSeconds(30);

    private readonly ProxyEntrySettings _settings;
    private readonly AgentRegistry _agents;
    private readonly ISessionDirectory _directory;
    private readonly HostAddressParser _hosts;
    private readonly PathAddressParser _paths;
    private readonly TimeProvider _timeProvider;
    private readonly ISessionLocator? _locator;
    private readonly long _started;

    public NameResolver(
        ProxyEntrySettings settings, AgentRegistry agents, ISessionDirectory directory, TimeProvider timeProvider,
        ISessionLocator? locator = null)
    {
        _locator = locator;
        _settings = settings;
        _agents = agents;
        _directory = directory;
        _timeProvider = timeProvider;
        _started = timeProvider.GetTimestamp();
        _hosts = new HostAddressParser(settings.Domain, settings.EntryId);
        _paths = new PathAddressParser(settings.EntryId);
    }

    /// <summary>The name that the request is for. Allocates, so it is not for every request.</summary>
    /// <param name="address">Host and target of the request.</param>
    /// <param name="isDomainAsked">As for <see cref="CopyName"/>.</param>
    public string GetName(in RequestAddress address, bool isDomainAsked = false)
    {
        Span<char> name = stackalloc char[DomainName.MaxLength];
        if (_locator is null && address.ParseHost(_hosts, name, out _) == HostAddressOutcome.NotOurDomain
            && GetDomain(address) is { } domain)
        {
            return domain;
        }

        var length = CopyName(address, name, isDomainAsked);
        return length > 0 ? name[..length].ToString() : name[..address.ParsePath(_paths, name).NameLength].ToString();
    }

    /// <summary>
    /// Copies the name that the request is for. In a cluster that may be a domain of another node: the domain itself until it is known that
    /// no node has it, and then the wildcard above it.
    /// </summary>
    /// <param name="address">Host and target of the request.</param>
    /// <param name="name">Room for <see cref="DomainName.MaxLength"/> characters.</param>
    /// <param name="isDomainAsked">Whether the cluster was asked for the domain itself, and no node has it.</param>
    /// <returns>Its length; 0 when there is none.</returns>
    public int CopyName(in RequestAddress address, Span<char> name, bool isDomainAsked = false)
    {
        var outcome = address.ParseHost(_hosts, name, out var length);
        if (outcome == HostAddressOutcome.Name)
        {
            return length;
        }

        // In test mode the target counts: visitors call any host there.
        var ofTarget = _settings.TestMode ? address.ParsePath(_paths, name).NameLength : 0;
        return ofTarget > 0 ? ofTarget
            : outcome == HostAddressOutcome.NotOurDomain ? CopyDomain(address, name, isDomainAsked)
            : 0;
    }

    /// <summary>Copies the domain that the request is for, which may be below a wildcard that an agent has claimed.</summary>
    /// <param name="address">Host and target of the request.</param>
    /// <param name="domain">Room for <see cref="DomainName.MaxLength"/> characters.</param>
    /// <returns>Its length; 0 where the Host is no domain.</returns>
    public int CopyDomain(in RequestAddress address, Span<char> domain) =>
        address.TryReadDomain(_hosts, domain, out var length) ? length : 0;

    /// <summary>Finds the session.</summary>
    /// <param name="address">Host and target of the request.</param>
    /// <param name="path">The part of the target to forward; in test mode the part after the name.</param>
    /// <param name="session">The session, or null.</param>
    /// <returns>Why there is no session, or null.</returns>
    public ProxyError? Resolve(in RequestAddress address, out PathAddress path, out EntrySession? session)
    {
        path = default;
        Span<char> name = stackalloc char[PublicName.MaxLength];
        var outcome = address.ParseHost(_hosts, name, out var length);
        if (outcome == HostAddressOutcome.NotOurDomain && TryFindDomain(address, out var found, out session))
        {
            return found;
        }

        if (!IsLeftToTarget(outcome, address.HasNoAuthority, name[..length], out var error, out session))
        {
            return error;
        }

        path = address.ParsePath(_paths, name);
        return path.Outcome == PathAddressOutcome.Name ? Find(name[..path.NameLength], out session) : ProxyError.UnknownHost;
    }

    /// <summary>Finds the session by the Host, unless the target must decide.</summary>
    /// <returns>Whether the target must decide.</returns>
    private bool IsLeftToTarget(
        HostAddressOutcome outcome, bool isEmpty, ReadOnlySpan<char> name, out ProxyError? error, out EntrySession? session)
    {
        session = null;
        error = outcome switch
        {
            HostAddressOutcome.Name => Find(name, out session),
            HostAddressOutcome.Invalid when !isEmpty => ProxyError.InvalidHost,
            _ => ProxyError.UnknownHost,
        };
        return error == ProxyError.UnknownHost && _settings.TestMode;
    }

    /// <summary>Finds the session of a domain that an agent has claimed.</summary>
    /// <returns>False: no agent has, and none may be about to.</returns>
    private bool TryFindDomain(in RequestAddress address, out ProxyError? error, out EntrySession? session)
    {
        Span<char> domain = stackalloc char[DomainName.MaxLength];
        error = null;
        session = null;
        if (!address.TryReadDomain(_hosts, domain, out var length))
        {
            return false;
        }

        var state = FindDomain(address, domain, length, out _, out session);
        error = state == NameState.Online ? null : ProxyError.AgentOffline;
        return state != NameState.Unknown || IsExpectedDomain(address, domain);
    }

    /// <summary>
    /// Looks a domain up. The session of a wildcard does not serve a domain that another agent's list has, whose agent may be away.
    /// </summary>
    private NameState FindDomain(
        in RequestAddress address, Span<char> domain, int length, out ReadOnlySpan<char> name, out EntrySession? session)
    {
        var isListed = _agents.Current.IsConfiguredName(domain[..length]);
        var state = DomainLookup.Find(_directory, domain[..length], out name, out session);
        if (isListed
            && state == NameState.Online
            && name[0] == '*'
            && address.TryReadDomain(_hosts, domain, out length)
            && !_agents.Current.MayServe(session!.Grant, domain[..length]))
        {
            name = domain[..length];
            session = null;
            return NameState.Offline;
        }

        return state;
    }

    /// <summary>Copies a domain that this node or another one may have, or the wildcard above it.</summary>
    private int CopyDomain(in RequestAddress address, Span<char> name, bool isAsked)
    {
        if (_locator is not { } locator || !address.TryReadDomain(_hosts, name, out var length))
        {
            return 0;
        }

        var domain = name[..length];
        if (locator.TryLocate(domain, out _))
        {
            return length;
        }

        if (DomainName.FindMistake(domain) is not null)
        {
            // An IP address, for example: no session has it.
            return 0;
        }

        isAsked = isAsked || locator.IsUnknown(domain);
        var isHere = FindDomain(address, domain, length, out var found, out _) != NameState.Unknown;
        if (isHere && found[0] != '*')
        {
            return length;
        }

        address.TryReadDomain(_hosts, name, out length);
        if (!isAsked)
        {
            return length;
        }

        var wildcard = DomainName.ToWildcard(name[..length]);
        if (isHere
            || (DomainName.FindMistake(wildcard) is null && (locator.TryLocate(wildcard, out _) || !locator.IsUnknown(wildcard))))
        {
            wildcard.CopyTo(name);
            return wildcard.Length;
        }

        address.TryReadDomain(_hosts, name, out length);
        return length;
    }

    /// <summary>Whether the settings name the domain, or its agent may be about to connect again.</summary>
    private bool IsExpectedDomain(in RequestAddress address, Span<char> buffer) =>
        address.TryReadDomain(_hosts, buffer, out var length)
        && (_agents.Current.IsConfiguredName(buffer[..length])
            || (_timeProvider.GetElapsedTime(_started) < _startPhase && _agents.Current.IsListed(buffer[..length])));

    private string? GetDomain(in RequestAddress address)
    {
        Span<char> domain = stackalloc char[DomainName.MaxLength];
        if (!address.TryReadDomain(_hosts, domain, out var length))
        {
            return null;
        }

        FindDomain(address, domain, length, out var name, out _);
        return !name.IsEmpty ? name.ToString() : IsExpectedDomain(address, domain) ? domain[..length].ToString() : null;
    }

    private ProxyError? Find(ReadOnlySpan<char> name, out EntrySession? session) => _directory.Find(name, out session) switch
    {
        NameState.Online => null,
        NameState.Offline => ProxyError.AgentOffline,
        _ when _agents.Current.IsConfiguredName(name) || _timeProvider.GetElapsedTime(_started) < _startPhase => ProxyError.AgentOffline,
        _ => ProxyError.UnknownName,
    };
}
