namespace Tunnel2.TestUtilities;

/// <summary>The built programs, each in the output folder of its own project, built as this one is.</summary>
public static class BuiltPrograms
{
    private const string Entry = "src/Tunnel2.ProxyEntry/tunnel2-entry";
    private const string Agent = "src/Tunnel2.Client/tunnel2";
    private const string Ports = "src/Tunnel2.Ports/tunnel2-ports";
    private const string Hosting = "samples/Hosting/tunnel2-sample-hosting";
    private const string Embedding = "samples/Embedding/tunnel2-sample-embedding";
    private const string AgentHost = "samples/Agent/tunnel2-sample-agent";
    private const string Ancestor = "benchmarks/Tunnel2.Ancestor/tunnel2-ancestor";
    private const string ClusterFaults = "load-tests/Tunnel2.ClusterFaults/tunnel2-cluster-faults";
    private const string Backend = "load-tests/Tunnel2.TestBackend/tunnel2-testbackend";

    /// <summary>Where <c>tunnel2-entry</c> is, for what a shell has to start.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static string EntryPath => PathOf(Entry);

    /// <summary>Where <c>tunnel2</c> is.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static string AgentPath => PathOf(Agent);

    /// <summary>Starts <c>tunnel2-entry</c>.</summary>
    /// <param name="arguments">Its command line.</param>
    /// <param name="files">The most files it may have open; null: as many as this process.</param>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartEntry(IEnumerable<string> arguments, int? files = null) => Start(EntryPath, arguments, null, files);

    /// <summary>Starts <c>tunnel2</c>.</summary>
    /// <param name="arguments">Its command line.</param>
    /// <param name="environment">Variables to add or (null) to remove.</param>
    /// <param name="files">The most files it may have open; null: as many as this process.</param>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartAgent(
        IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null, int? files = null) =>
        Start(AgentPath, arguments, environment, files);

    /// <summary>Starts <c>tunnel2-ports</c>.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartPorts(params IEnumerable<string> arguments) => Start(PathOf(Ports), arguments, null, null);

    /// <summary>Starts the sample that hosts the server.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartHostingSample(params IEnumerable<string> arguments) => Start(PathOf(Hosting), arguments, null, null);

    /// <summary>Starts the sample of an app with a tunnel of its own.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartEmbeddingSample(params IEnumerable<string> arguments) =>
        Start(PathOf(Embedding), arguments, null, null);

    /// <summary>Starts the sample of a generic host that runs the agent.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartAgentSample(params IEnumerable<string> arguments) => Start(PathOf(AgentHost), arguments, null, null);

    /// <summary>Starts the test backend.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartBackend(params IEnumerable<string> arguments) => Start(PathOf(Backend), arguments, null, null);

    /// <summary>Starts the suite of a cluster's faults.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartClusterFaults(params IEnumerable<string> arguments) =>
        Start(PathOf(ClusterFaults), arguments, null, null);

    /// <summary>Starts one of the programs of the design before Tunnel2.</summary>
    /// <exception cref="FileNotFoundException">It is not built.</exception>
    public static ProcessRunner StartAncestor(params IEnumerable<string> arguments) => Start(PathOf(Ancestor), arguments, null, null);

    private static ProcessRunner Start(
        string path, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment, int? files)
    {
        // A shell starts background jobs with SIGINT ignored, and nohup its command with SIGHUP, which the runtime respects and children
        // inherit: this process may be such a job.
        string[] limit = files is null ? [] : ["prlimit", $"--nofile={files}:{files}"];
        string[] command = OperatingSystem.IsLinux()
            ? ["env", "--default-signal=INT,HUP", .. limit, "dotnet", path] : ["dotnet", path];

        // A working folder without an appsettings.json that would be read.
        return ProcessRunner.Start(command[0], [.. command[1..], .. arguments], environment, Path.GetTempPath());
    }

    private static string PathOf(string program)
    {
        // Such as bin/Release/net10.0: the programs are built with what this one is built with.
        var output = new DirectoryInfo(AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar));
        var flavour = output.Parent!.Name is "Debug" or "Release" ? output.Parent.Name : "Release";
        var project = Path.GetDirectoryName(program)!;
        var path = Path.Combine(RepositoryFolder.Path, project, "bin", flavour, "net10.0", Path.GetFileName(program) + ".dll");
        return File.Exists(path) ? path : throw new FileNotFoundException($"{path} is not built: dotnet build -c {flavour} {project}");
    }
}
