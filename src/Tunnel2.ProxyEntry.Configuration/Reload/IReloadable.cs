namespace Tunnel2.ProxyEntry.Reload;

/// <summary>A part that was read from files and can be read again.</summary>
internal interface IReloadable
{
    /// <summary>
    /// Looks at the files, and reads them again when they changed. Never throws; a mistake is logged and changes nothing.
    /// </summary>
    void ReloadIfChanged();
}
