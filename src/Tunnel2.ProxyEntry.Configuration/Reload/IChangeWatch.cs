namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Notices changes of what was read. A change is news until it was taken over. Not thread-safe.</summary>
internal interface IChangeWatch
{
    /// <summary>Whether anything has changed since it was last taken over (or since the watch was made).</summary>
    bool HaveChanged();

    /// <summary>What the last look saw has been taken over.</summary>
    void Accept();
}
