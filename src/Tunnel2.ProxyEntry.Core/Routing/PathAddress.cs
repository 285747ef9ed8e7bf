namespace Tunnel2.ProxyEntry.Routing;

/// <summary>The positions of the parts of <c>/session/{name}/rest</c>.</summary>
/// <param name="Outcome">Whether there is a name.</param>
/// <param name="NameLength">How much of the caller's buffer is the name.</param>
/// <param name="RestStart">Where the backend's target begins in the visitor's target; query included.</param>
/// <param name="NeedsSlash">Whether the backend's target lacks its first slash, as in <c>/session/web?x=1</c>: add one.</param>
internal readonly record struct PathAddress(PathAddressOutcome Outcome, int NameLength, int RestStart, bool NeedsSlash)
{
    /// <summary>The backend's target, character by character as the visitor sent it. Allocates.</summary>
    /// <param name="target">The target from which this address was parsed.</param>
    public string GetRest(string target) =>
        NeedsSlash ? string.Concat("/", target.AsSpan(RestStart)) : target[RestStart..];
}
