namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Where a server's settings come from, read as a whole each time. Used by one thread at a time.</summary>
internal interface ISettingsSource
{
    /// <summary>Notices changes, beginning before the first reading.</summary>
    IChangeWatch Watch { get; }

    /// <summary>The <see cref="SettingsSource.FixedValues"/> of the first reading, which the server runs with; null before it.</summary>
    Dictionary<string, string?>? FirstRead { get; }

    /// <summary>Reads everything.</summary>
    /// <exception cref="InvalidDataException">A file is not JSON.</exception>
    /// <exception cref="IOException">A file cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read a file.</exception>
    IConfiguration Read();

    /// <summary>
    /// What gave settings when they were last taken over, and gives none now: an accident, and no order to send agents away.
    /// </summary>
    ReloadProblem? FindLoss();

    /// <summary>What was read has been taken over.</summary>
    void Accept();
}
