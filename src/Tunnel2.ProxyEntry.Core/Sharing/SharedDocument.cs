namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>One document that all nodes of a cluster have.</summary>
/// <param name="Key">What it is called within its kind; not empty.</param>
/// <param name="Value">Its bytes. They come from the database: nothing is sure about them.</param>
/// <param name="Version">Another number after each change; 0 for one that the database does not have yet.</param>
/// <param name="Touched">When it was last used, roughly; null: not known.</param>
/// <param name="Age">How long ago that was when it was read, by the database's clock.</param>
internal sealed record SharedDocument(
    string Key, byte[] Value, long Version = 0, DateTimeOffset? Touched = null, TimeSpan Age = default)
{
    /// <summary>The longest value, in bytes.</summary>
    public const int LongestValue = 64 * 1024;
}
