using System.Text;

namespace Tunnel2.Client.Core.Files;

/// <summary>
/// Finds what a request's path means in a folder. Names that begin with a dot are not there, and neither is what a link leads to outside of
/// the folder. Immutable.
/// </summary>
internal sealed class FileFinder
{
    private const int MostLinks = 40;
    private const string Index = "index.html";

    private static readonly UTF8Encoding _strict = new(false, throwOnInvalidBytes: true);

    /// <param name="folder">The folder; it exists.</param>
    /// <exception cref="IOException">Its links lead nowhere.</exception>
    public FileFinder(string folder)
    {
        Root = RealPath(Path.GetFullPath(folder)) ?? throw new IOException($"'{folder}' is a link that leads nowhere.");
    }

    /// <summary>The folder's path without links.</summary>
    public string Root { get; }

    /// <summary>Finds it.</summary>
    /// <param name="path">The path of a request, with its escapes and without its query.</param>
    public FileFinding Find(string path)
    {
        if (TryRead(path) is not { } segments || RealPath(Path.Combine([Root, .. segments])) is not { } real || !IsShown(real))
        {
            return FileFinding.None;
        }

        bool endsInSlash = path.EndsWith('/');
        if (!Directory.Exists(real))
        {
            return !endsInSlash && File.Exists(real) ? new FileFinding(FileFindingKind.File, real) : FileFinding.None;
        }

        if (!endsInSlash)
        {
            // Made of the segments: a path that begins with two slashes would be another host's.
            string location = string.Concat(segments.Select(static segment => "/" + Uri.EscapeDataString(segment))) + "/";
            return new FileFinding(FileFindingKind.Elsewhere, location);
        }

        return RealPath(Path.Combine(real, Index)) is { } index && File.Exists(index) && IsShown(index)
            ? new FileFinding(FileFindingKind.File, index)
            : new FileFinding(FileFindingKind.Folder, real);
    }

    /// <summary>Whether an entry of a folder may be listed.</summary>
    public bool IsListed(FileSystemInfo entry) => IsName(entry.Name)
        && RealPath(entry.FullName) is { } real && IsShown(real) && (File.Exists(real) || Directory.Exists(real));

    /// <summary>The names between the slashes; null: it is no path that a file can have.</summary>
    private static List<string>? TryRead(string path)
    {
        if (!path.StartsWith('/'))
        {
            return null;
        }

        var segments = new List<string>();
        foreach (string part in path.Split('/', StringSplitOptions.RemoveEmptyEntries))
        {
            if (Unescape(part) is not { } segment || !IsName(segment))
            {
                return null;
            }

            segments.Add(segment);
        }

        return segments;
    }

    /// <summary>Whether a file of this name may be asked for.</summary>
    private static bool IsName(string name) => name.Length > 0
        && name[0] != '.'
        && !name.Any(static c => char.IsControl(c) || c is '/' or '\\')
        && !(OperatingSystem.IsWindows() && (name.AsSpan().ContainsAny(':', '~') || name[^1] is '.' or ' '));

    /// <summary>Reads the escapes of a segment, once; null: they are no text.</summary>
    private static string? Unescape(string part)
    {
        // A path comes as Latin-1: one character for each byte.
        byte[] bytes = new byte[part.Length];
        int length = 0;
        for (int i = 0; i < part.Length; i++)
        {
            if (part[i] != '%')
            {
                bytes[length++] = (byte)part[i];
                continue;
            }

            if (i + 2 >= part.Length || !char.IsAsciiHexDigit(part[i + 1]) || !char.IsAsciiHexDigit(part[i + 2]))
            {
                return null;
            }

            bytes[length++] = Convert.FromHexString(part.AsSpan(i + 1, 2))[0];
            i += 2;
        }

        try
        {
            return _strict.GetString(bytes, 0, length);
        }
        catch (ArgumentException)
        {
            return null;
        }
    }

    /// <summary>Whether a path without links is below the folder, and no name on the way begins with a dot.</summary>
    private bool IsShown(string real)
    {
        string relative = Path.GetRelativePath(Root, real);
        return relative == "."
            || (!Path.IsPathRooted(relative) && !relative.Split(Path.DirectorySeparatorChar).Any(static name => name.StartsWith('.')));
    }

    /// <summary>A full path with every link followed, as the system follows them; null: a name is missing, or links are too many.</summary>
    public static string? RealPath(string path)
    {
        string current = Path.GetPathRoot(path)!;
        var left = new Stack<string>();
        Push(left, path[current.Length..]);
        for (int links = 0; left.TryPop(out string? name);)
        {
            if (name == "..")
            {
                current = Path.GetDirectoryName(current) ?? current;
                continue;
            }

            string next = Path.Combine(current, name);
            (bool isThere, string? target) = Look(next);
            if (!isThere)
            {
                // The names after it are not looked at: a visitor may write thousands of them.
                return null;
            }

            if (target is null)
            {
                current = next;
                continue;
            }

            if (++links > MostLinks)
            {
                return null;
            }

            string root = Path.GetPathRoot(target) ?? "";
            current = root.Length > 0 ? root : current;
            Push(left, target[root.Length..]);
        }

        return current;
    }

    private static void Push(Stack<string> left, string path)
    {
        string[] names = path.Split([Path.DirectorySeparatorChar, Path.AltDirectorySeparatorChar], StringSplitOptions.RemoveEmptyEntries);
        foreach (string name in names.Reverse().Where(static name => name != "."))
        {
            left.Push(name);
        }
    }

    /// <summary>Whether a name is there, and where it leads if it is a link.</summary>
    private static (bool IsThere, string? Target) Look(string path)
    {
        const FileAttributes None = (FileAttributes)(-1);
        try
        {
            var file = new FileInfo(path);
            return file.Attributes == None ? (false, null)
                : (true, file.Attributes.HasFlag(FileAttributes.ReparsePoint) ? file.LinkTarget : null);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return (false, null);
        }
    }
}
