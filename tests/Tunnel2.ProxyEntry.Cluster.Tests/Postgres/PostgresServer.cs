using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using Npgsql;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>
/// A PostgreSQL of the tests' own, in a temporary folder and at a Unix socket there: it has nothing to do with one of the machine.
/// </summary>
public sealed class PostgresServer : IAsyncLifetime
{
    private const string User = "postgres";
    private const int SigStop = 19;
    private const int SigCont = 18;

    private readonly string _folder = Path.Combine(Path.GetTempPath(), "tunnel2-pg-" + Path.GetRandomFileName());
    private int _databases;

    /// <summary>The folder of the programs, or null where there are none.</summary>
    public static string? Programs { get; } = Directory.Exists("/usr/lib/postgresql")
        ? Directory.GetDirectories("/usr/lib/postgresql")
            .Select(static version => Path.Combine(version, "bin"))
            .Where(static bin => File.Exists(Path.Combine(bin, "initdb")))
            .Order(StringComparer.Ordinal)
            .LastOrDefault()
        : null;

    private string Data => Path.Combine(_folder, "data");

    public async ValueTask InitializeAsync()
    {
        if (Programs is null)
        {
            return;
        }

        Directory.CreateDirectory(_folder);
        if (Environment.IsPrivilegedProcess)
        {
            await RunAsync("chown", User, _folder);
        }

        await RunProgramAsync("initdb", "-D", Data, "-U", User, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-k");
        await StartAsync();
    }

    public async ValueTask DisposeAsync()
    {
        if (Programs is not null)
        {
            if (File.Exists(Path.Combine(Data, "postmaster.pid")))
            {
                await StopAsync();
            }

            Directory.Delete(_folder, recursive: true);
        }
    }

    /// <summary>The folder of its socket, which is its host in a connection string.</summary>
    public string Host => _folder;

    /// <summary>Makes and starts a second server that follows this one.</summary>
    public async Task<PostgresServer> CreateStandbyAsync()
    {
        var standby = new PostgresServer();
        Directory.CreateDirectory(standby._folder);
        if (Environment.IsPrivilegedProcess)
        {
            await RunAsync("chown", User, standby._folder);
        }

        await RunProgramAsync("pg_basebackup", "-h", _folder, "-U", User, "-D", standby.Data, "-R", "-X", "stream", "-c", "fast");
        await standby.StartAsync();
        return standby;
    }

    /// <summary>Lets a standby take writes.</summary>
    public Task PromoteAsync() => RunProgramAsync("pg_ctl", "-D", Data, "-w", "-t", "60", "promote");

    /// <summary>Starts it; it answers when the task ends.</summary>
    public Task StartAsync() => RunProgramAsync(
        "pg_ctl", "-D", Data, "-w", "-t", "60", "-l", Path.Combine(_folder, "log"), "-o",
        $"-k {_folder} -c listen_addresses='' -c fsync=off -c max_connections=200 -c shared_buffers=16MB", "start");

    /// <summary>Ends it as a crash does.</summary>
    public Task StopAsync() => RunProgramAsync("pg_ctl", "-D", Data, "-w", "-t", "60", "-m", "immediate", "stop");

    /// <summary>Stops all its processes, so that it takes connections and does not answer.</summary>
    public void Freeze() => Signal(SigStop);

    /// <summary>Lets them continue.</summary>
    public void Thaw() => Signal(SigCont);

    /// <summary>The connection string of a new database.</summary>
    public async Task<string> CreateDatabaseAsync(CancellationToken cancellationToken)
    {
        if (Programs is null)
        {
            Assert.Skip("PostgreSQL is not installed (Debian's package postgresql).");
        }

        var name = $"test{Interlocked.Increment(ref _databases)}";
        await ExecuteAsync(ConnectionString(User), $"create database {name}", cancellationToken);
        return ConnectionString(name);
    }

    /// <summary>Runs statements.</summary>
    public static async Task ExecuteAsync(string connectionString, string text, CancellationToken cancellationToken)
    {
        await using var source = NpgsqlDataSource.Create(connectionString);
        await using var command = source.CreateCommand(text);
        await command.ExecuteNonQueryAsync(cancellationToken);
    }

    /// <summary>The first value of the first row.</summary>
    public static async Task<object?> AskAsync(string connectionString, string text, CancellationToken cancellationToken)
    {
        await using var source = NpgsqlDataSource.Create(connectionString);
        await using var command = source.CreateCommand(text);
        return await command.ExecuteScalarAsync(cancellationToken);
    }

    private string ConnectionString(string database) => $"Host={_folder};Username={User};Database={database}";

    private void Signal(int number)
    {
        var main = int.Parse(File.ReadLines(Path.Combine(Data, "postmaster.pid")).First(), CultureInfo.InvariantCulture);
        var all = Directory.GetDirectories("/proc")
            .Select(static path => Path.GetFileName(path))
            .Where(static name => name.All(char.IsAsciiDigit))
            .Where(name => ParentOf(name) == main)
            .Select(static name => int.Parse(name, CultureInfo.InvariantCulture))
            .Prepend(main);
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

    private static Task RunProgramAsync(string program, params string[] arguments)
    {
        var path = Path.Combine(Programs!, program);
        return Environment.IsPrivilegedProcess
            ? RunAsync("runuser", ["-u", User, "--", path, .. arguments])
            : RunAsync(path, arguments);
    }

    private static async Task RunAsync(string program, params string[] arguments)
    {
        // Not redirected: the server that pg_ctl starts would keep the pipes open.
        string[] all = ["-c", "exec \"$@\" >/dev/null 2>&1 </dev/null", "sh", program, .. arguments];
        using var process = Process.Start(new ProcessStartInfo("sh", all)
        {
            WorkingDirectory = "/",
        })!;
        await process.WaitForExitAsync();
        Assert.True(process.ExitCode == 0, $"{program} {string.Join(' ', arguments)} ended with {process.ExitCode}");
    }

    [DllImport("libc", EntryPoint = "kill")]
    private static extern int Kill(int process, int signal);
}
