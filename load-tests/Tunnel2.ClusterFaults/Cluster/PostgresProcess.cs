using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Cluster;

/// <summary>A PostgreSQL of the suite's own, in a folder that is deleted with it. Commits are on disk, as with an operator.</summary>
internal sealed class PostgresProcess : IAsyncDisposable
{
    private const string User = "postgres";
    private const int SigStop = 19;
    private const int SigCont = 18;

    private readonly string _folder;
    private readonly string _programs;

    private PostgresProcess(string folder, string programs)
    {
        _folder = folder;
        _programs = programs;
    }

    /// <summary>Where it listens, besides a Unix socket.</summary>
    public IPEndPoint EndPoint { get; } = new(IPAddress.Loopback, FreePort.Next());

    private string Data => Path.Combine(_folder, "data");

    /// <summary>Makes and starts one.</summary>
    /// <exception cref="FaultSuiteException">It is not installed, or does not start.</exception>
    public static async Task<PostgresProcess> StartAsync()
    {
        var programs = Directory.Exists("/usr/lib/postgresql")
            ? Directory.GetDirectories("/usr/lib/postgresql").Select(static version => Path.Combine(version, "bin"))
                .Where(static bin => File.Exists(Path.Combine(bin, "initdb"))).Order(StringComparer.Ordinal).LastOrDefault()
            : null;
        if (programs is null)
        {
            throw new FaultSuiteException("PostgreSQL is not installed (Debian's package postgresql)");
        }

        var server = new PostgresProcess(Directory.CreateTempSubdirectory("tunnel2-faults-pg-").FullName, programs);
        if (Environment.IsPrivilegedProcess)
        {
            await Tool.RunQuietAsync("chown", User, server._folder);
        }

        await server.RunAsync("initdb", "-D", server.Data, "-U", User, "-A", "trust", "-E", "UTF8", "--no-locale");
        await server.RunAsync(
            "pg_ctl", "-D", server.Data, "-w", "-t", "60", "-l", Path.Combine(server._folder, "log"), "-o",
            $"-k {server._folder} -p {server.EndPoint.Port} -c listen_addresses=127.0.0.1 -c max_connections=200", "start");
        return server;
    }

    /// <summary>The connection string for who reaches it at an address.</summary>
    public static string ConnectionString(IPEndPoint at) => $"Host={at.Address};Port={at.Port};Username={User};Database={User}";

    /// <summary>Runs a query past every relay.</summary>
    /// <returns>Its rows; the columns are separated by a bar.</returns>
    public async Task<IReadOnlyList<string>> AskAsync(string query)
    {
        var port = EndPoint.Port.ToString(CultureInfo.InvariantCulture);
        var output = await Tool.RunAsync(
            Path.Combine(_programs, "psql"), "-h", _folder, "-p", port, "-U", User, "-Atqc", query, User);
        return output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }

    /// <summary>Stops all its processes, so that it takes connections and does not answer.</summary>
    public void Freeze() => Signal(SigStop);

    /// <summary>Lets them continue.</summary>
    public void Thaw() => Signal(SigCont);

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        Thaw();
        await RunAsync("pg_ctl", "-D", Data, "-w", "-t", "60", "-m", "immediate", "stop");
        Directory.Delete(_folder, recursive: true);
    }

    private void Signal(int number)
    {
        var main = int.Parse(File.ReadLines(Path.Combine(Data, "postmaster.pid")).First(), CultureInfo.InvariantCulture);
        var all = Directory.GetDirectories("/proc").Select(static path => Path.GetFileName(path))
            .Where(static name => name.All(char.IsAsciiDigit)).Where(name => ParentOf(name) == main)
            .Select(static name => int.Parse(name, CultureInfo.InvariantCulture)).Prepend(main);
        foreach (var process in all)
        {
            _ = Kill(process, number);
        }
    }

    private static int ParentOf(string process)
    {
        try
        {
            // After the name, which is in brackets and may have spaces: state and parent.
            var text = File.ReadAllText($"/proc/{process}/stat");
            return int.Parse(text[(text.LastIndexOf(')') + 2)..].Split(' ')[1], CultureInfo.InvariantCulture);
        }
        catch (IOException)
        {
            return 0;
        }
    }

    private Task RunAsync(string program, params string[] arguments)
    {
        var path = Path.Combine(_programs, program);
        return Environment.IsPrivilegedProcess
            ? Tool.RunQuietAsync("runuser", ["-u", User, "--", path, .. arguments])
            : Tool.RunQuietAsync(path, arguments);
    }

    [DllImport("libc", EntryPoint = "kill")]
    private static extern int Kill(int process, int signal);
}
