using System.Globalization;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>How many files and sockets this process may have open, and how many it has. Stateless.</summary>
internal static class OpenFiles
{
    /// <summary>
    /// Descriptors that are left to the runtime: it opens two for each thread that it starts, and ends the process where it cannot.
    /// </summary>
    internal const int Reserve = 16;

    /// <summary>
    /// Whether all files except the <see cref="Reserve"/> are in use, by the limit of this moment: it can be lowered while the process
    /// runs. Three system calls. Always false where the system is not Linux.
    /// </summary>
    internal static unsafe bool AreAlmostUsedUp()
    {
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        // The lowest number that is free.
        var lowest = Libc.EventDescriptor(0, Libc.EpollCloseOnExec);
        if (lowest < 0)
        {
            return true;
        }

        _ = Libc.Close(lowest);
        var limits = stackalloc nuint[2];
        return Libc.GetLimit(Libc.LimitOfOpenFiles, limits) == 0 && (nuint)lowest + Reserve > limits[0];
    }

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
