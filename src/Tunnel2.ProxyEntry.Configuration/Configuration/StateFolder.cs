namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The folder for files that a server makes itself and needs again after a restart.</summary>
internal static class StateFolder
{
    private const string Name = "tunnel2";

    /// <summary>The folder if no setting names one. systemd's choice wins, because systemd has made and protected that folder.</summary>
    public static string Default()
    {
        if (Environment.GetEnvironmentVariable("STATE_DIRECTORY") is { Length: > 0 } systemd)
        {
            return systemd.Split(':')[0];
        }

        if (OperatingSystem.IsLinux() && Environment.IsPrivilegedProcess)
        {
            return "/var/lib/" + Name;
        }

        if (Environment.GetEnvironmentVariable("XDG_STATE_HOME") is { Length: > 0 } state && Path.IsPathRooted(state))
        {
            return Path.Combine(state, Name);
        }

        return OperatingSystem.IsWindows()
            ? Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData), Name)
            : Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".local", "state", Name);
    }

    /// <summary>The folder of the tokens that the server keeps. It exists since the first of them was made.</summary>
    public static string TokensOf(string path) => Path.Combine(path, "tokens");

    /// <summary>The folder of the policies that the server keeps. It exists since the first of them was set.</summary>
    public static string PoliciesOf(string path) => Path.Combine(path, "policies");

    /// <summary>Makes the folder, for its owner only, unless it exists.</summary>
    /// <exception cref="IOException">It cannot be made.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not make it.</exception>
    public static void Create(string path)
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(path);
        }
        else
        {
            Directory.CreateDirectory(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }
    }
}
