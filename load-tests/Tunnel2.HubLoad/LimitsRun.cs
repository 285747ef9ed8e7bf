using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.HubLoad;

/// <summary>
/// Loads the hub to each of its guard's limits once, in a server with low ones, and shows that new subscribers are refused there with the
/// right reason, and accepted again when the load is over. Beside the memory's limit a subscriber that reads nothing is paused, and later
/// continues.
/// </summary>
internal static class LimitsRun
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan _betweenProbes = TimeSpan.FromMilliseconds(100);
    private static readonly LoadChecker _ignored = new();

    public static async Task<int> RunAsync()
    {
        Console.WriteLine("| limit | the server's setting | what was done | refused | accepted again |");
        Console.WriteLine("|---|---|---|---|---|");
        bool all = await ConnectionsAsync();
        all &= await RateAsync();
        all &= await AddressRateAsync();
        all &= await ThreadsAsync();
        all &= await CpuAsync();
        all &= await MemoryAsync();
        Console.WriteLine(all ? "every limit was reached, and came back" : "NOT every limit was reached and came back");
        return all ? 0 : 1;
    }

    private static async Task<bool> ConnectionsAsync()
    {
        using var server = new ServerProcess("Hub:MaxConnections=50");
        (List<LoadConnection> connected, Dictionary<string, int> refused) = await ConnectAllAsync(server, 60, 0);
        connected[0].Leave();
        TimeSpan? again = await ProbeUntilAsync(server, null);
        bool ok = connected.Count == 50 && refused.GetValueOrDefault("Full") == 10 && again is not null;
        return Row(ok, "connections", "MaxConnections=50", "60 connect, later one leaves", refused, again);
    }

    private static async Task<bool> RateAsync()
    {
        using var server = new ServerProcess("Hub:ConnectionsPerSecond=20");
        (_, Dictionary<string, int> refused) = await ConnectAllAsync(server, 100, 0);
        TimeSpan? again = await ProbeUntilAsync(server, null);
        bool ok = refused.Count == 1 && refused.GetValueOrDefault("Rate") >= 30 && again is not null;
        return Row(ok, "connections a second in all", "ConnectionsPerSecond=20", "100 connect at once, from 32 addresses", refused, again);
    }

    private static async Task<bool> AddressRateAsync()
    {
        using var server = new ServerProcess("Hub:ConnectionsPerAddress=5");
        (_, Dictionary<string, int> refused) = await ConnectAllAsync(server, 40, source: 1);
        bool others = await ProbeAsync(server, 2) is null;
        TimeSpan? again = await ProbeUntilAsync(server, null);
        bool ok = refused.Count == 1 && refused.GetValueOrDefault("AddressRate") >= 20 && others && again is not null;
        return Row(ok, "… of one address", "ConnectionsPerAddress=5", "40 connect at once, from one address", refused, again);
    }

    private static async Task<bool> ThreadsAsync()
    {
        using var server = new ServerProcess("Hub:MaxThreads=150");
        bool before = await ProbeAsync(server, 0) is null;
        await server.CommandAsync("threads 200");
        TimeSpan? refused = await ProbeUntilAsync(server, "Threads");
        await server.CommandAsync("threads 0");
        TimeSpan? again = await ProbeUntilAsync(server, null);
        return Row(before, "threads", "MaxThreads=150", "200 more threads, later they end", refused, again);
    }

    private static async Task<bool> CpuAsync()
    {
        using var server = new ServerProcess("Hub:CpuReject=0.1", "Hub:CpuAccept=0.05");
        bool before = await ProbeAsync(server, 0) is null;
        await server.CommandAsync("burn 1");
        TimeSpan? refused = await ProbeUntilAsync(server, "Cpu");
        await server.CommandAsync("burn 0");
        TimeSpan? again = await ProbeUntilAsync(server, null);
        return Row(
            before, "processors", "CpuReject=0.1, CpuAccept=0.05", "four threads for each are busy, later none", refused, again);
    }

    private static async Task<bool> MemoryAsync()
    {
        double used = new ContainerUsage(TimeProvider.System).Read().Memory;
        string reject = Share(used + 0.06);
        string accept = Share(used + 0.02);
        using var server = new ServerProcess($"Hub:MemoryReject={reject}", $"Hub:MemoryAccept={accept}");
        await server.CommandAsync("create 1");

        // Between the two levels: the slow one is paused, and none is refused. Held again and again, because others give memory back.
        string between = $"hold {Share(used + 0.05)}";
        bool isPausing = await LoadRun.UntilAsync(async () =>
        {
            await server.CommandAsync(between);
            return (await server.StateAsync()).IsPausing;
        });
        using LoadConnection slow = await LoadConnection.ConnectAsync(server.Port, 0, _ignored, receiveBuffer: 4096);
        await slow.SubscribeAsync(0);
        await slow.ReadUntilSnapshotAsync();

        // Enough to fill the kernel's buffers, 4 MB, and then the queue of a subscriber that reads nothing more.
        await server.CommandAsync("begin 1 10000 3 1");
        int paused = 0;
        bool wasPaused = await LoadRun.UntilAsync(async () =>
        {
            await server.CommandAsync(between);
            return (paused = (await server.StateAsync()).Paused) > 0;
        });
        string? answerThen = await ProbeAsync(server, 1);
        Task reading = slow.ReadAllAsync();

        await server.CommandAsync($"hold {Share(used + 0.09)}");
        TimeSpan? refused = await ProbeUntilAsync(server, "Memory");
        await server.CommandAsync("hold 0");
        TimeSpan? again = await ProbeUntilAsync(server, null);
        bool continued = await LoadRun.UntilAsync(() => Task.FromResult(slow.Resumes > 0));
        slow.Leave();
        await reading;
        bool ok = Row(
            isPausing && wasPaused && continued && answerThen is null, "memory", $"MemoryReject={reject}, MemoryAccept={accept}",
            "9 % of the memory is held, later no more", refused, again);
        Console.WriteLine(
            $"before that, {paused} slow subscriber was paused, and a new one was {answerThen ?? "accepted"}; afterwards the slow one "
                + $"continued {slow.Resumes} time(s)");
        return ok;
    }

    private static string Share(double share) => share.ToString("0.000", CultureInfo.InvariantCulture);

    /// <summary>Many at once; they stay connected.</summary>
    /// <param name="server">The server.</param>
    /// <param name="count">How many.</param>
    /// <param name="source">0: from all addresses, otherwise from this one.</param>
    private static async Task<(List<LoadConnection> Connected, Dictionary<string, int> Refused)> ConnectAllAsync(
        ServerProcess server, int count, int source)
    {
        var connected = new List<LoadConnection>();
        var refused = new Dictionary<string, int>();
        Task<LoadConnection>[] all =
        [
            .. Enumerable.Range(0, count).Select(i => LoadConnection.ConnectAsync(server.Port, source == 0 ? i : source, _ignored)),
        ];
        foreach (Task<LoadConnection> connecting in all)
        {
            try
            {
                connected.Add(await connecting);
            }
            catch (RefusedException refusal)
            {
                refused[refusal.Reason] = refused.GetValueOrDefault(refusal.Reason) + 1;
            }
        }

        return (connected, refused);
    }

    /// <summary>Connects one subscriber and lets it leave.</summary>
    /// <returns>The reason for refusing it; null: it was accepted.</returns>
    private static async Task<string?> ProbeAsync(ServerProcess server, int source)
    {
        try
        {
            (await LoadConnection.ConnectAsync(server.Port, source, _ignored)).Leave();
            return null;
        }
        catch (RefusedException refusal)
        {
            return refusal.Reason;
        }
    }

    /// <summary>Probes until the answer is the expected one.</summary>
    /// <returns>After how long it was; null: not within the patience.</returns>
    private static async Task<TimeSpan?> ProbeUntilAsync(ServerProcess server, string? expected)
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start) < _patience)
        {
            if (await ProbeAsync(server, 1) == expected)
            {
                return Stopwatch.GetElapsedTime(start);
            }

            await Task.Delay(_betweenProbes);
        }

        return null;
    }

    private static bool Row(bool ok, string limit, string setting, string done, TimeSpan? refused, TimeSpan? again) =>
        Row(ok && refused is not null && again is not null, limit, setting, done, After(refused), again);

    private static bool Row(bool ok, string limit, string setting, string done, Dictionary<string, int> refused, TimeSpan? again) =>
        Row(ok, limit, setting, done, string.Join(", ", refused.Select(static pair => $"{pair.Value} × {pair.Key}")), again);

    private static bool Row(bool ok, string limit, string setting, string done, string refused, TimeSpan? again)
    {
        Console.WriteLine($"| {limit} | {setting} | {done} | {refused} | {After(again)}{(ok ? "" : ": NOT as it should be")} |");
        return ok;
    }

    private static string After(TimeSpan? time) =>
        time is { } known ? string.Create(CultureInfo.InvariantCulture, $"after {known.TotalSeconds:0.0} s") : "never";
}
