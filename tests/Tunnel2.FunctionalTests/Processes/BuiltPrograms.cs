using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Processes;

/// <summary>The built programs, each in the output folder of its own project, and the folders of the repository that tests use.</summary>
internal static class BuiltPrograms
{
    private static readonly string _repository = FindRepository();

    /// <summary>Such as <c>Release/net10.0</c>: the programs are built with what the tests are built with.</summary>
    private static readonly string _flavour = FindFlavour();

    /// <summary>The folder of the node clients and servers.</summary>
    public static string NodeFolder { get; } = Path.Combine(_repository, "tests", "Tunnel2.FunctionalTests", "node");

    /// <summary>Where <c>tunnel2-entry</c> is, for what a shell has to start.</summary>
    public static string EntryPath => PathOf("src/Tunnel2.ProxyEntry", "tunnel2-entry.dll");

    /// <summary>Where <c>tunnel2</c> is.</summary>
    public static string AgentPath => PathOf("src/Tunnel2.Client", "tunnel2.dll");

    /// <summary>Starts <c>tunnel2-entry</c>.</summary>
    /// <param name="arguments">Its command line.</param>
    /// <param name="files">The most files it may have open; null: as many as this process.</param>
    public static ProcessRunner StartEntry(IEnumerable<string> arguments, int? files = null) =>
        Start("src/Tunnel2.ProxyEntry", "tunnel2-entry.dll", arguments, null, files);

    /// <summary>Starts <c>tunnel2</c>.</summary>
    public static ProcessRunner StartAgent(IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null) =>
        Start("src/Tunnel2.Client", "tunnel2.dll", arguments, environment);

    /// <summary>Starts <c>tunnel2</c>, which may have so many files open.</summary>
    public static ProcessRunner StartAgentWithFiles(int files, params string[] arguments) => Start("src/Tunnel2.Client", "tunnel2.dll", arguments, null, files);

    /// <summary>Starts <c>tunnel2-ports</c>.</summary>
    public static ProcessRunner StartPorts(params string[] arguments) => Start("src/Tunnel2.Ports", "tunnel2-ports.dll", arguments, null);

    /// <summary>Starts the test backend.</summary>
    public static ProcessRunner StartBackend(IEnumerable<string> arguments) =>
        Start("load-tests/Tunnel2.TestBackend", "tunnel2-testbackend.dll", arguments, null);

    /// <summary>Starts a script of <see cref="NodeFolder"/>; skips the test where its packages are not installed.</summary>
    public static ProcessRunner StartNode(string script, params string[] arguments)
    {
        Assert.SkipUnless(
            Directory.Exists(Path.Combine(NodeFolder, "node_modules")), "Needs node packages: npm ci --prefix tests/Tunnel2.FunctionalTests/node");
        return ProcessRunner.Start("node", ["--import", "./localhost.mjs", script, .. arguments], workingDirectory: NodeFolder);
    }

    private static ProcessRunner Start(
        string project, string file, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment, int? files = null)
    {
        var path = PathOf(project, file);
        // A working folder without an appsettings.json that would be read. A shell starts background jobs with SIGINT ignored, which the
        // runtime respects and children inherit: the tests may be such a job.
        string[] limit = files is null ? [] : ["prlimit", $"--nofile={files}:{files}"];
        return ProcessRunner.Start("env", ["--default-signal=INT", .. limit, "dotnet", path, .. arguments], environment, Path.GetTempPath());
    }

    private static string PathOf(string project, string file)
    {
        var path = Path.Combine(_repository, project, "bin", _flavour, file);
        Assert.True(File.Exists(path), $"{path} is not built.");
        return path;
    }

    /// <summary>The folder of the working tree.</summary>
    public static string FindRepository()
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(Path.Combine(folder.FullName, "Tunnel2.sln")))
            {
                return folder.FullName;
            }
        }

        throw new InvalidOperationException($"No Tunnel2.sln above {AppContext.BaseDirectory}.");
    }

    private static string FindFlavour()
    {
        var output = new DirectoryInfo(AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar));
        return Path.Combine(output.Parent!.Name, output.Name);
    }
}
