using Tunnel2.ProxyEntry.Agents;
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
    private readonly long _started;

    public NameResolver(ProxyEntrySettings settings, AgentRegistry agents, ISessionDirectory directory, TimeProvider timeProvider)
    {
        _settings = settings;
        _agents = agents;
        _directory = directory;
        _timeProvider = timeProvider;
        _started = timeProvider.GetTimestamp();
        _hosts = new HostAddressParser(settings.Domain, settings.EntryId);
        _paths = new PathAddressParser(settings.EntryId);
    }

    /// <summary>The name that the request is for. Allocates, so it is not for every request.</summary>
    public string GetName(in RequestAddress address)
    {
        Span<char> name = stackalloc char[PublicName.MaxLength];
        return address.ParseHost(_hosts, name, out var length) == HostAddressOutcome.Name
            ? name[..length].ToString()
            : name[..address.ParsePath(_paths, name).NameLength].ToString();
    }

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

    private ProxyError? Find(ReadOnlySpan<char> name, out EntrySession? session) => _directory.Find(name, out session) switch
    {
        NameState.Online => null,
        NameState.Offline => ProxyError.AgentOffline,
        _ when _agents.Current.IsConfiguredName(name) || _timeProvider.GetElapsedTime(_started) < _startPhase => ProxyError.AgentOffline,
        _ => ProxyError.UnknownName,
    };
}
