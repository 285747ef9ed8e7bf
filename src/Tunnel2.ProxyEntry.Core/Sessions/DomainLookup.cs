using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Finds the session of a domain: its own, and else that of the wildcard above it. Stateless; allocates nothing.</summary>
internal static class DomainLookup
{
    /// <summary>Looks a domain up.</summary>
    /// <param name="directory">Where.</param>
    /// <param name="domain">The domain in lower case. Its characters change.</param>
    /// <param name="name">The name that is known, in the same characters; empty: none is.</param>
    /// <param name="session">The session that serves it.</param>
    public static NameState Find(ISessionDirectory directory, Span<char> domain, out ReadOnlySpan<char> name, out EntrySession? session)
    {
        var state = directory.Find(domain, out session);
        if (state != NameState.Unknown)
        {
            name = domain;
            return state;
        }

        var wildcard = DomainName.ToWildcard(domain);
        state = wildcard.IsEmpty ? NameState.Unknown : directory.Find(wildcard, out session);
        name = state == NameState.Unknown ? default : wildcard;
        return state;
    }
}
