using System.Net;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Cluster;

/// <summary>A node: a <c>tunnel2-entry</c> that can be started again at the same addresses.</summary>
internal sealed class FaultNode : IAsyncDisposable
{
    private static readonly TimeSpan _startLimit = TimeSpan.FromSeconds(60);

    private readonly IReadOnlyList<string> _prefix;
    private readonly List<string> _arguments;

    public FaultNode(string id, FaultNetwork network, string database, string certificates)
    {
        Id = id;
        var address = network.AddressOf(id);
        Public = new IPEndPoint(address, network.PortAt(id));
        Uplink = new IPEndPoint(address, network.PortAt(id));
        Admin = new IPEndPoint(address, network.PortAt(id));
        var links = new IPEndPoint(address, network.PortAt(id));
        _prefix = network.PrefixOf(id);
        _arguments =
        [
            $"--Tunnel2:EntryId={id}", "--Tunnel2:Domain=localhost", $"--Tunnel2:Public:HttpListen={Public}",
            $"--Tunnel2:Uplink:Listen={Uplink}", "--Tunnel2:Uplink:AllowPlaintext=true", "--Tunnel2:AllowAnonymousAgents=true",
            "--Tunnel2:Uplink:SessionsPerAgent=100000", $"--Tunnel2:Admin:Listen={Admin}", "--Tunnel2:Timeouts:DrainDelay=1s",
            $"--Tunnel2:Cluster:Listen={links}", $"--Tunnel2:Cluster:Certificate={Path.Combine(certificates, $"{id}.pem")}",
            $"--Tunnel2:Cluster:Ca={Path.Combine(certificates, "ca.pem")}", $"--Tunnel2:Cluster:Database={database}",
            $"--Tunnel2:StateFolder={Path.Combine(certificates, $"state-{id}")}",
        ];
    }

    /// <summary>Its id.</summary>
    public string Id { get; }

    /// <summary>Where visitors connect.</summary>
    public IPEndPoint Public { get; }

    /// <summary>Where agents connect.</summary>
    public IPEndPoint Uplink { get; }

    /// <summary>Where its health is asked.</summary>
    public IPEndPoint Admin { get; }

    /// <summary>The process that runs, or ran last.</summary>
    public ProcessRunner Process { get; private set; } = null!;

    /// <summary>The program, from the next start on.</summary>
    public string Program { get; set; } = BuiltPrograms.EntryPath;

    /// <summary>More variables of its environment, from the next start on.</summary>
    public Dictionary<string, string?> Environment { get; } = new() { ["Tunnel2__Admin__Token"] = "only-for-the-fault-suite-0123456789" };

    /// <summary>Starts it, also again after it has ended; it is ready when the task ends.</summary>
    /// <exception cref="FaultSuiteException">It does not start.</exception>
    public async Task StartAsync()
    {
        if (Process is not null)
        {
            await Process.DisposeAsync();
        }

        string[] command = [.. _prefix, "env", "--default-signal=INT", "dotnet", Program, .. _arguments];
        Process = ProcessRunner.Start(command[0], command[1..], Environment, Path.GetTempPath());
        try
        {
            await Process.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), _startLimit);
        }
        catch (Exception exception) when (exception is InvalidOperationException or TimeoutException)
        {
            throw new FaultSuiteException($"node {Id} does not start: {exception.Message}");
        }
    }

    /// <summary>Runs one of the program's commands with the settings of this node.</summary>
    public Task<(int Code, string Output, string Error)> CommandAsync(params string[] words) => Tool.TryAsync(
        "dotnet",
        [
            BuiltPrograms.EntryPath, .. words,
            .. _arguments.Where(static argument => argument.Contains(":Database=", StringComparison.Ordinal)),
        ]);

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (Process is not null)
        {
            await Process.DisposeAsync();
        }
    }
}
