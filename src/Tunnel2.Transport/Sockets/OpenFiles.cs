using System.Globalization;

namespace Tunnel2.Transport.Sockets;

/// <summary>How many files and sockets this process may have open, and how many it has. Stateless.</summary>
internal static class OpenFiles
{
    /// <summary>The limit; <see cref="int.MaxValue"/> if there is none or the system does not report it.</summary>
    /// <param name="root">The root instead of <c>/</c>, for tests.</param>
    internal static int Limit(string root = "/")
    {
        const string Name = "Max open files";
        try
        {
            string? line = File.ReadLines(Path.Combine(root, "proc/self/limits")).FirstOrDefault(
                static text => text.StartsWith(Name, StringComparison.Ordinal));
            string[] words = line?[Name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [];
            return words.Length > 0 && int.TryParse(words[0], NumberStyles.None, CultureInfo.InvariantCulture, out int limit)
                ? limit
                : int.MaxValue;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return int.MaxValue;
        }
    }

    /// <summary>How many are open now; an estimate for a server if the system does not report it.</summary>
    /// <param name="root">The root instead of <c>/</c>, for tests.</param>
    internal static int Count(string root = "/")
    {
        const int Guess = 200;
        try
        {
            // One of them is the folder itself.
            return Directory.GetFiles(Path.Combine(root, "proc/self/fd")).Length;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return Guess;
        }
    }
}
