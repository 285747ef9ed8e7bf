using Tunnel2.Protocol;

namespace Tunnel2.Transport.Outputs;

/// <summary>
/// Why a file cannot be read or written, in words for its user: the system's words for a broken link or a folder mislead. Stateless.
/// </summary>
internal static class FileFailure
{
    /// <summary>The reason, a sentence's end: in words of our own where the system's would mislead.</summary>
    public static string Reason(string path, Exception exception) =>
        Obstacle(path) ?? exception.Message.ReplaceLineEndings(" ");

    /// <summary>What is there that is no file; null: nothing of the kind.</summary>
    public static string? Obstacle(string path) =>
        Directory.Exists(path) ? "it is a folder, not a file." : Link(path) is { } link ? $"it is {link}" : null;

    /// <summary>Says where a link leads that leads to nothing; null: it is none.</summary>
    public static string? Link(string path)
    {
        try
        {
            return new FileInfo(path) is { LinkTarget: not null } link
                && link.ResolveLinkTarget(returnFinalTarget: true) is { Exists: false } end
                ? $"a symbolic link to \"{PlainText.Clean(end.FullName)}\", which is not there."
                : null;
        }
        catch (IOException)
        {
            return "a symbolic link that leads to itself.";
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or ArgumentException)
        {
            // The reading says so.
            return null;
        }
    }
}
