namespace Tunnel2.ProxyEntry.Reload;

/// <summary>The source of a server's settings, read as a whole each time. Used by one thread at a time.</summary>
internal interface ISettingsSource
{
    /// <summary>Notices changes, beginning before the first reading.</summary>
    IChangeWatch Watch { get; }

    /// <summary>The <see cref="SettingsSource.FixedValues"/> of the first reading, with which the server runs; null before it.</summary>
    Dictionary<string, string?>? FirstRead { get; }

    /// <summary>Reads all settings.</summary>
    /// <exception cref="InvalidDataException">A file is not JSON.</exception>
    /// <exception cref="IOException">A file cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read a file.</exception>
    IConfiguration Read();

    /// <summary>
    /// A source that had settings when they were last accepted, and has none now. This is an accident, and not an order to send agents
    /// away.
    /// </summary>
    ReloadProblem? FindLoss();

    /// <summary>The settings of the last reading are in use.</summary>
    void Accept();
}
