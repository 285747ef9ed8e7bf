using System.Text;

namespace Tunnel2.Client.States;

/// <summary>The folder with the sockets of this user's agents. No other user can enter it.</summary>
internal static class StatusFolder
{
    /// <summary>Bytes of a socket's path, at most, on Linux; other systems take a few less.</summary>
    private const int LongestPath = 100;

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>Where it is; null: the environment names no place.</summary>
    public static string? Find(Func<string, string?> environment)
    {
        if (environment("XDG_RUNTIME_DIR") is { Length: > 0 } runtime && Path.IsPathRooted(runtime) && Directory.Exists(runtime))
        {
            return Path.Combine(runtime, "tunnel2");
        }

        if (environment("XDG_STATE_HOME") is { Length: > 0 } state && Path.IsPathRooted(state))
        {
            return Path.Combine(state, "tunnel2", "run");
        }

        if (OperatingSystem.IsWindows())
        {
            return environment("LOCALAPPDATA") is { Length: > 0 } local ? Path.Combine(local, "Tunnel2", "run") : null;
        }

        return environment("HOME") is { Length: > 0 } home && Path.IsPathRooted(home) && Directory.Exists(home)
            ? Path.Combine(home, ".local", "state", "tunnel2", "run")
            : null;
    }

    /// <summary>Makes the folder, and says where this process's socket belongs; null: there is no place for it.</summary>
    /// <exception cref="IOException">The folder cannot be made.</exception>
    /// <exception cref="UnauthorizedAccessException">It belongs to another user.</exception>
    public static string? Prepare(Func<string, string?> environment)
    {
        if (Find(environment) is not { } folder)
        {
            return null;
        }

        string path = Path.Combine(folder, $"{Environment.ProcessId}.sock");
        if (Encoding.UTF8.GetByteCount(path) > LongestPath)
        {
            return null;
        }

        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(folder);
        }
        else
        {
            Directory.CreateDirectory(folder, OwnerOnly);

            // It may be older; only its owner can do this.
            File.SetUnixFileMode(folder, OwnerOnly);
        }

        return path;
    }
}
