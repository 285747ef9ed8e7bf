using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Looks at what is in the place of a file or folder that a setting names, before it is opened: the system's words for a broken link or a
/// folder mislead, and the opening of a pipe waits for ever. Stateless.
/// </summary>
internal static class SettingFile
{
    /// <summary>Throws where nothing can be read.</summary>
    /// <exception cref="IOException">There is no file with content; the message says what is there.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not look at it.</exception>
    public static void Require(string path)
    {
        if (FileFailure.Obstacle(path) is { } obstacle)
        {
            throw new IOException(obstacle);
        }

        if (!HasContent(path))
        {
            throw new IOException("it is empty, or is no file but a pipe, a socket or a device.");
        }
    }

    /// <summary>Whether a file has content: no pipe, socket or device has a length, also none without an end.</summary>
    /// <exception cref="IOException">There is no file.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not look at it.</exception>
    public static bool HasContent(string path) =>
        (new FileInfo(path).ResolveLinkTarget(returnFinalTarget: true) as FileInfo ?? new FileInfo(path)).Length > 0;

    /// <summary>What is wrong with a folder; null: nothing, or there is none.</summary>
    public static string? FolderMistake(string path) =>
        Directory.Exists(path) ? null
            : FileFailure.Link(path) is { } link ? $"is {link}"
            : File.Exists(path) ? "is a file, and not a folder."
            : null;

    /// <summary>The same where there has to be one.</summary>
    public static string? RequiredFolderMistake(string path) =>
        Directory.Exists(path) ? null : FolderMistake(path) ?? Absence(path);

    /// <summary>Why a file is missing; null: it is there.</summary>
    /// <param name="path">The file.</param>
    /// <param name="remedy">The words after those that nothing is there.</param>
    public static string? FileMistake(string path, string remedy = ".") =>
        Directory.Exists(path) ? "is a folder, not a file."
            : FileFailure.Link(path) is { } link ? $"is {link}"
            : File.Exists(path) ? null
            : Absence(path, remedy);

    /// <summary>A folder that may not be entered hides what is in it: .NET says of both that nothing exists.</summary>
    private static string Absence(string path, string remedy = ".")
    {
        try
        {
            _ = File.GetAttributes(path);
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException
            or (IOException and not (FileNotFoundException or DirectoryNotFoundException)))
        {
            return $"cannot be reached: {exception.Message.ReplaceLineEndings(" ")}";
        }
        catch (IOException)
        {
            // Nothing is there.
        }

        return "is not there" + remedy;
    }
}
