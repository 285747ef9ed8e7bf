using System.Globalization;
using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>
/// Two machines of a test's own, seen by no other process: each is a network in which all ports are free. The first one has a name server,
/// which leads every name to it until the test wants otherwise. Nothing leads out of the two.
/// </summary>
internal sealed class OwnNetwork : IAsyncDisposable
{
    /// <summary>The address of the first machine.</summary>
    public const string Here = "192.0.2.1";

    /// <summary>The address of the other one.</summary>
    public const string There = "192.0.2.2";

    private const string Needed = "ip nsenter curl pebble-challtestsrv";
    private const string NamesPort = "8055";

    /// <summary>How long it exists at most, should the test's process be killed.</summary>
    private const string Life = "600";

    private readonly List<ProcessRunner> _processes = [];
    private readonly ProcessRunner _there;
    private ProcessRunner? _here;

    private OwnNetwork() =>
        _there = Add(ProcessRunner.Start(
            "unshare", ["--net", "--", "sh", "-c", $"ip link set lo up && echo ready && exec sleep {Life}"]));

    /// <summary>Skips the test where this process may not make networks, or what it takes is missing.</summary>
    public static async Task SkipWithoutAsync()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Networks of a test's own are Linux's.");
        var tried = await Shell.RunBashAsync(
            $"for program in {Needed}; do command -v $program || exit 1; done; "
            + "unshare --net --mount ip link add name here type veth peer name there");
        Assert.SkipUnless(
            tried.ExitCode == 0, $"This process may not make a network of its own, or there is one of these missing: {Needed}.");
    }

    /// <summary>Makes both machines and the name server.</summary>
    /// <param name="folder">Gets a file.</param>
    public static async Task<OwnNetwork> StartAsync(TemporaryFolder folder)
    {
        await File.WriteAllTextAsync(folder["resolv.conf"], "nameserver 127.0.0.1\n", TestContext.Current.CancellationToken);
        var network = new OwnNetwork();
        try
        {
            await ReadyAsync(network._there);
            network._here = network.Add(ProcessRunner.Start(
                "unshare",
                [
                    "--net", "--mount", "--propagation", "private", "--", "sh", "-c",
                    $"""
                    set -e
                    ip link set lo up
                    ip link add name there type veth peer name here netns "$1"
                    ip address add {Here}/24 dev there
                    ip link set dev there up
                    nsenter --target "$1" --net ip address add {There}/24 dev here
                    nsenter --target "$1" --net ip link set dev here up
                    mount --bind "$2" /etc/resolv.conf
                    echo ready
                    exec sleep {Life}
                    """,
                    "sh", network._there.Id.ToString(CultureInfo.InvariantCulture), folder["resolv.conf"],
                ]));
            await ReadyAsync(network._here);
            var names = network.Start(
                "pebble-challtestsrv",
                [
                    "-defaultIPv4", Here, "-defaultIPv6", "", "-dns01", "127.0.0.1:53", "-management", "127.0.0.1:" + NamesPort,
                    "-http01", "", "-https01", "", "-tlsalpn01", "",
                ]);
            await names.WaitForLineAsync(static line => line.Contains("management", StringComparison.OrdinalIgnoreCase), Limits.Start);
            return network;
        }
        catch
        {
            await network.DisposeAsync();
            throw;
        }
    }

    /// <summary>Starts a program on the first machine; it ends with the network at the latest.</summary>
    public ProcessRunner Start(
        string program, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null) =>
        StartOn(_here!, ["--net", "--mount"], program, arguments, environment);

    /// <summary>Starts one of the built programs on the first machine.</summary>
    public ProcessRunner StartBuilt(
        string path, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null) =>
        Start("env", ["--default-signal=INT", "dotnet", path, .. arguments], environment);

    /// <summary>Starts a program on the other machine.</summary>
    public ProcessRunner StartThere(string program, IEnumerable<string> arguments) =>
        StartOn(_there, ["--net"], program, arguments, null);

    /// <summary>Runs curl on the first machine, silent apart from errors.</summary>
    public async Task<ShellResult> CurlAsync(params string[] arguments) =>
        await Shell.FinishAsync(Start("curl", ["-sS", "--max-time", "20", .. arguments]));

    /// <summary>Leads a name to an address, and to no other.</summary>
    public async Task LeadAsync(string name, string address)
    {
        await ChangeNamesAsync("clear-a", new { host = name });
        await ChangeNamesAsync("add-a", new { host = name, addresses = new[] { address } });
    }

    public async ValueTask DisposeAsync()
    {
        for (var i = _processes.Count - 1; i >= 0; i--)
        {
            await _processes[i].DisposeAsync();
        }
    }

    private static Task<string> ReadyAsync(ProcessRunner process) =>
        process.WaitForLineAsync(static line => line == "ready", Limits.Start);

    private async Task ChangeNamesAsync(string change, object what) =>
        (await CurlAsync("--fail", $"http://127.0.0.1:{NamesPort}/{change}", "--data", JsonSerializer.Serialize(what))).EnsureSuccess();

    private ProcessRunner StartOn(
        ProcessRunner machine, string[] spaces, string program, IEnumerable<string> arguments,
        IReadOnlyDictionary<string, string?>? environment) =>
        Add(ProcessRunner.Start(
            "nsenter",
            ["--target", machine.Id.ToString(CultureInfo.InvariantCulture), .. spaces, "--", program, .. arguments],
            environment,
            Path.GetTempPath()));

    private ProcessRunner Add(ProcessRunner process)
    {
        _processes.Add(process);
        return process;
    }
}
