using System.Globalization;

namespace Tunnel2.Client.Core.Backend;

/// <summary>What the limit of open files leaves for connections to backends.</summary>
internal static class OpenFiles
{
    /// <summary>
    /// For what the process opens later: uplinks, the resolver, and files of the runtime, which ends the process where it cannot open them.
    /// </summary>
    private const int Reserve = 32;

    /// <summary>Connections that there may be; <see cref="int.MaxValue"/> where there is no limit or the system does not say.</summary>
    /// <param name="later">What the process is known to open later, beyond the reserve.</param>
    /// <param name="root">In place of <c>/</c>, for tests.</param>
    public static int LeftForBackends(int later = 0, string root = "/")
    {
        const string Name = "Max open files";
        try
        {
            string? line = File.ReadLines(Path.Combine(root, "proc/self/limits")).FirstOrDefault(static text => text.StartsWith(Name, StringComparison.Ordinal));
            string[] words = line?[Name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [];
            if (words.Length == 0 || !int.TryParse(words[0], NumberStyles.None, CultureInfo.InvariantCulture, out int limit))
            {
                return int.MaxValue;
            }

            int open = Directory.EnumerateFileSystemEntries(Path.Combine(root, "proc/self/fd")).Count();
            return Math.Max(1, limit - open - later - Math.Max(Reserve, limit / 16));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return int.MaxValue;
        }
    }
}
