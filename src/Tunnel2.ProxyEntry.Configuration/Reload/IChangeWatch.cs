namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Notices changes of data that were read. A change is reported until it was accepted. Not thread-safe.</summary>
internal interface IChangeWatch
{
    /// <summary>Whether the data differ from those that were last accepted (or from those when the watch was made).</summary>
    bool HaveChanged();

    /// <summary>The data of the last look are in use.</summary>
    void Accept();
}
