namespace Tunnel2.Client.Core.Files;

/// <summary>What a path means.</summary>
internal enum FileFindingKind
{
    /// <summary>There is nothing, or nothing that is shown.</summary>
    None = 0,

    /// <summary>A file.</summary>
    File,

    /// <summary>A folder without an index.</summary>
    Folder,

    /// <summary>A folder whose path lacks its last slash.</summary>
    Elsewhere,
}

/// <summary>What was found.</summary>
/// <param name="Kind">What it is.</param>
/// <param name="Path">The path in the file system; of <see cref="FileFindingKind.Elsewhere"/> the path to call instead.</param>
internal readonly record struct FileFinding(FileFindingKind Kind, string Path)
{
    /// <summary>Nothing.</summary>
    public static FileFinding None => new(FileFindingKind.None, "");
}
