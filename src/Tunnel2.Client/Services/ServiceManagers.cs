namespace Tunnel2.Client.Services;

/// <summary>Which service manager this machine has, and what it is to start.</summary>
internal static class ServiceManagers
{
    /// <summary>That of this system; null: there is none that this program knows.</summary>
    public static IServiceManager? OfThisMachine(Func<string, string?> environment) =>
        OperatingSystem.IsLinux() ? new SystemdManager("", environment)
        : OperatingSystem.IsMacOS() ? new LaunchdManager("", environment)
        : OperatingSystem.IsWindows() ? new WindowsManager(environment)
        : null;

    /// <summary>This program: its own file, or dotnet with the program's.</summary>
    public static IReadOnlyList<string> ThisProgram()
    {
        string path = Environment.ProcessPath ?? "tunnel2";
        return Path.GetFileNameWithoutExtension(path).Equals("dotnet", StringComparison.OrdinalIgnoreCase)
            ? [path, Path.Combine(AppContext.BaseDirectory, "tunnel2.dll")]
            : [path];
    }
}
