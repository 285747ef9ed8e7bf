namespace Tunnel2.Client.CommandLine;

/// <summary>What a value names, for shells that complete it.</summary>
internal enum ValueKind
{
    /// <summary>Anything.</summary>
    Text = 0,

    /// <summary>A file.</summary>
    File,

    /// <summary>A folder.</summary>
    Folder,
}
