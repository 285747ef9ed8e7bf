using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Running;

/// <summary>The programs under test, each in the output folder of its own project, built as this one is.</summary>
internal static class BuiltPrograms
{
    /// <summary>The repository's root.</summary>
    /// <exception cref="LoadFailedException">This program runs outside of it.</exception>
    public static string Repository { get; } = FindRepository();

    /// <summary>Starts ProxyEntry.</summary>
    public static ProcessRunner StartEntry(params string[] arguments) => Start("src/Tunnel2.ProxyEntry", "tunnel2-entry.dll", arguments);

    /// <summary>Starts an agent.</summary>
    public static ProcessRunner StartAgent(params string[] arguments) => Start("src/Tunnel2.Client", "tunnel2.dll", arguments);

    /// <summary>Starts the test backend.</summary>
    public static ProcessRunner StartBackend(params string[] arguments) => Start("load-tests/Tunnel2.TestBackend", "tunnel2-testbackend.dll", arguments);

    private static ProcessRunner Start(string project, string file, string[] arguments)
    {
        var output = new DirectoryInfo(AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar));
        var flavour = output.Parent!.Name is "Debug" or "Release" ? output.Parent.Name : "Release";
        var path = Path.Combine(Repository, project, "bin", flavour, "net10.0", file);
        if (!File.Exists(path))
        {
            throw new LoadFailedException($"{path} is not built: dotnet build -c {flavour} {project}");
        }

        // A working folder without an appsettings.json that would be read.
        return ProcessRunner.Start("dotnet", [path, .. arguments], workingDirectory: Path.GetTempPath());
    }

    private static string FindRepository()
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(Path.Combine(folder.FullName, "Tunnel2.sln")))
            {
                return folder.FullName;
            }
        }

        throw new LoadFailedException("This program starts ProxyEntry, agent and backend from the repository that it was built in, and is outside of one. Use --url.");
    }
}
