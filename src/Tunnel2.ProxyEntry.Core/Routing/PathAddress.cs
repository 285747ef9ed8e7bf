namespace Tunnel2.ProxyEntry.Routing;

/// <summary>Where the parts of <c>/session/{name}/rest</c> are.</summary>
/// <param name="Outcome">Whether there is a name.</param>
/// <param name="NameLength">How much of the caller's buffer is the name.</param>
/// <param name="RestStart">Where the target for the backend begins in the visitor's; query included.</param>
/// <param name="NeedsSlash">The target for the backend lacks its first slash, as in <c>/session/web?x=1</c>: put one in front.</param>
internal readonly record struct PathAddress(PathAddressOutcome Outcome, int NameLength, int RestStart, bool NeedsSlash)
{
    /// <summary>The target for the backend, character by character what the visitor sent. Allocates.</summary>
    /// <param name="target">The target this address was parsed from.</param>
    public string GetRest(string target) =>
        NeedsSlash ? string.Concat("/", target.AsSpan(RestStart)) : target[RestStart..];
}
