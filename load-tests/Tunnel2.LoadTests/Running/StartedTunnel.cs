using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Running;

/// <summary>
/// ProxyEntry, an agent with one or many sessions, and a test backend, each a process of its own on free ports of loopback and with its
/// default settings. Disposing ends them, and so does the end of this process, for any reason.
/// </summary>
internal sealed class StartedTunnel : LoadTarget
{
    private static readonly TimeSpan _startLimit = TimeSpan.FromSeconds(30);

    /// <summary>Those that were not disposed of yet.</summary>
    private static readonly ConcurrentDictionary<StartedTunnel, bool> _all = new();

    private readonly List<(string Name, ProcessRunner Process)> _processes = [];
    private readonly CancellationTokenSource _stop = new();
    private readonly ProcessWatchdog _watchdog = ProcessWatchdog.Start();
    private readonly LoadScenario _scenario;
    private CuttingProxy? _relay;
    private Task _cutting = Task.CompletedTask;
    private readonly Lock _starting = new();
    private bool _isKilled;
    private string? _folder;
    private int _cuts;

    private StartedTunnel(LoadScenario scenario)
    {
        _scenario = scenario;
        EndPoint = new IPEndPoint(IPAddress.Loopback, FreePort.Next());
        Hosts = [.. Enumerable.Range(1, scenario.Sessions).Select(number => $"{NameOf(number)}.localhost:{EndPoint.Port}")];
        _all.TryAdd(this, true);
    }

    /// <inheritdoc/>
    public override IPEndPoint EndPoint { get; }

    /// <inheritdoc/>
    public override IReadOnlyList<string> Hosts { get; }

    /// <inheritdoc/>
    public override IReadOnlyList<(string Name, ProcessRunner Process)> Processes => _processes;

    /// <inheritdoc/>
    public override int Cuts => _cuts;

    /// <summary>Starts what a scenario needs; a request would work when the task ends.</summary>
    /// <exception cref="LoadFailedException">Something did not start; the message has its last lines.</exception>
    public static async Task<LoadTarget> StartAsync(LoadScenario scenario, CancellationToken cancellationToken)
    {
        var tunnel = new StartedTunnel(scenario);
        try
        {
            var backend = await tunnel.StartBackendAsync(cancellationToken);
            if (scenario.Direct)
            {
                return new DirectBackend(tunnel, backend);
            }

            await (scenario.AsAncestor
                ? tunnel.StartAncestorAsync(backend, cancellationToken)
                : tunnel.StartTunnelAsync(backend, cancellationToken));
            return tunnel;
        }
        catch (Exception e)
        {
            await tunnel.DisposeAsync();
            if (e is InvalidOperationException or TimeoutException or FileNotFoundException or DirectoryNotFoundException)
            {
                throw new LoadFailedException(e.Message);
            }

            throw;
        }
    }

    /// <summary>Kills every process of every tunnel, for a program that ends at once.</summary>
    public static void KillAll()
    {
        foreach (var tunnel in _all.Keys)
        {
            tunnel.Kill();
        }
    }

    /// <inheritdoc/>
    public override void BeginCutting(TimeSpan every) => _cutting = CutAsync(every);

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _cutting;
        foreach (var (_, process) in Enumerable.Reverse(_processes))
        {
            await process.DisposeAsync();
        }

        if (_relay is not null)
        {
            await _relay.DisposeAsync();
        }

        if (_folder is not null)
        {
            Directory.Delete(_folder, recursive: true);
        }

        _watchdog.Dispose();
        _all.TryRemove(this, out _);
        _stop.Dispose();
        await base.DisposeAsync();
    }

    private static string NameOf(int number) => string.Create(CultureInfo.InvariantCulture, $"load-{number}");

    private async Task<IPEndPoint> StartBackendAsync(CancellationToken cancellationToken)
    {
        const string Listening = "Listening on http://";
        var backend = Add("backend", BuiltPrograms.StartBackend("--listen", "127.0.0.1:0", "--engine", "event-loop"));
        var line = await backend.WaitForLineAsync(
            static line => line.StartsWith(Listening, StringComparison.Ordinal), _startLimit, cancellationToken);
        return IPEndPoint.Parse(line[Listening.Length..].TrimEnd('/'));
    }

    private async Task StartTunnelAsync(IPEndPoint backend, CancellationToken cancellationToken)
    {
        var uplink = new IPEndPoint(IPAddress.Loopback, FreePort.Next());
        var entry = Add("ProxyEntry", BuiltPrograms.StartEntry(
            [$"--Tunnel2:Public:HttpListen={EndPoint}", $"--Tunnel2:Uplink:Listen={uplink}", "--Tunnel2:Admin:Listen=127.0.0.1:0"]));
        await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), _startLimit, cancellationToken);
        if (_scenario.CutUplinkEvery is not null)
        {
            _relay = CuttingProxy.Start(uplink);
            uplink = _relay.EndPoint;
        }

        _folder = Directory.CreateTempSubdirectory("tunnel2-load-").FullName;
        _watchdog.WatchFolder(_folder);
        var file = Path.Combine(_folder, "tunnels.yml");
        string[] uplinks = _scenario.Uplinks is { } count ? [string.Create(CultureInfo.InvariantCulture, $"uplinks: {count}")] : [];
        await File.WriteAllLinesAsync(
            file,
            [
                $"server: {uplink}",
                .. uplinks,
                "tunnels:",
                .. Enumerable.Range(1, _scenario.Sessions).Select(number => $"  - name: {NameOf(number)}\n    upstream: {backend}"),
            ],
            cancellationToken);
        var agent = Add("agent", BuiltPrograms.StartAgent(["start", "--config", file, "--json"]));
        for (var number = 1; number <= _scenario.Sessions; number++)
        {
            var name = $"\"{NameOf(number)}\"";
            await agent.WaitForLineAsync(
                line => line.Contains("\"ready\"", StringComparison.Ordinal) && line.Contains(name, StringComparison.Ordinal),
                _startLimit,
                cancellationToken);
        }
    }

    /// <summary>The same with the design before Tunnel2: a connection for each session, all in one agent.</summary>
    private async Task StartAncestorAsync(IPEndPoint backend, CancellationToken cancellationToken)
    {
        var uplink = new IPEndPoint(IPAddress.Loopback, FreePort.Next());
        var entry = Add("entry", BuiltPrograms.StartAncestor("entry", "--public", $"{EndPoint}", "--uplink", $"{uplink}"));
        await entry.WaitForLineAsync(static line => line == "Ready", _startLimit, cancellationToken);
        var names = Enumerable.Range(1, _scenario.Sessions).Select(NameOf).ToArray();
        var agent = Add("agent", BuiltPrograms.StartAncestor(
            "agent", "--uplink", $"{uplink}", "--backend", $"{backend}", "--names", string.Join(',', names)));
        foreach (var name in names)
        {
            await agent.WaitForLineAsync(line => line == $"Ready {name}", _startLimit, cancellationToken);
        }
    }

    private ProcessRunner Add(string name, ProcessRunner process)
    {
        lock (_starting)
        {
            _watchdog.Watch(process.Id);
            _processes.Add((name, process));
            if (_isKilled)
            {
                process.Kill();
            }
        }

        return process;
    }

    private void Kill()
    {
        lock (_starting)
        {
            _isKilled = true;
            foreach (var (_, process) in _processes)
            {
                Try(process.Kill);
            }
        }

        if (_folder is { } folder)
        {
            Try(() => Directory.Delete(folder, recursive: true));
        }

        // The caller that disposes of the tunnel may have begun already.
        static void Try(Action end)
        {
            try
            {
                end();
            }
            catch (Exception e) when (e is InvalidOperationException or IOException)
            {
            }
        }
    }

    private async Task CutAsync(TimeSpan every)
    {
        using var timer = new PeriodicTimer(every);
        try
        {
            while (await timer.WaitForNextTickAsync(_stop.Token))
            {
                // The one that has lived longest; where several are left, requests that were not on it do not notice.
                if (_relay!.Connections.FirstOrDefault(static connection => !connection.Closed.IsSet) is { } oldest)
                {
                    oldest.Cut(CutMode.Reset);
                    _cuts++;
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The run is over.
        }
    }

    /// <summary>The backend alone.</summary>
    private sealed class DirectBackend(StartedTunnel tunnel, IPEndPoint backend) : LoadTarget
    {
        public override IPEndPoint EndPoint => backend;

        public override IReadOnlyList<string> Hosts { get; } = [backend.ToString()];

        public override IReadOnlyList<(string Name, ProcessRunner Process)> Processes => tunnel.Processes;

        public override async ValueTask DisposeAsync()
        {
            await tunnel.DisposeAsync();
            await base.DisposeAsync();
        }
    }
}
