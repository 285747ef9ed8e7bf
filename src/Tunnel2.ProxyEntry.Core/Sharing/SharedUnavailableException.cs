namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>What nodes share cannot be reached.</summary>
/// <param name="reason">A few words that an administrator may see; no secret, and no text of the database.</param>
/// <param name="mayHaveChanged">The question was sent, and whether it had an effect is not known.</param>
/// <param name="cause">What happened.</param>
internal sealed class SharedUnavailableException(string reason, bool mayHaveChanged, Exception? cause = null)
    : Exception(reason, cause)
{
    /// <summary>A few words that an administrator may see.</summary>
    public string Reason { get; } = reason;

    /// <summary>Whether a change may have been made all the same.</summary>
    public bool MayHaveChanged { get; } = mayHaveChanged;
}
