using System.Diagnostics;
using System.Globalization;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.HubLoad;

/// <summary>The two runs: many connections, and few with a close look at latency and completeness. Everything ends by itself.</summary>
internal static class LoadRun
{
    private static readonly TimeSpan _settle = TimeSpan.FromSeconds(20);

    /// <summary>Many connections at a ramp, each with 3 random of 5 channels; memory while idle, then as much as goes through.</summary>
    public static async Task<int> ConnectionsAsync(RunOptions options)
    {
        int count = options.Get("--count", 10_000);
        int ramp = options.Get("--ramp", 500);
        int rate = options.Get("--rate", 10);
        int seconds = options.Get("--seconds", 10);
        const int Channels = 5;
        if (!HasRoomFor(count))
        {
            return 2;
        }

        using var server = new ServerProcess();
        await server.CommandAsync($"create {Channels}");
        long before = server.ReadResidentBytes();
        var checker = new LoadChecker();
        var random = new Random(1);
        List<LoadConnection> connections = await RampAsync(server, count, ramp, checker);
        long idle = server.ReadResidentBytes();
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"connected {connections.Count} of {count}; RSS {before / 1e6:0.0} -> {idle / 1e6:0.0} MB: "
                + $"{(idle - before) / 1024.0 / Math.Max(1, connections.Count):0.0} KiB per idle connection"));
        await Parallel.ForEachAsync(connections, new ParallelOptions { MaxDegreeOfParallelism = 4 }, async (connection, _) =>
        {
            int[] chosen;
            lock (random)
            {
                chosen = [.. Enumerable.Range(0, Channels).OrderBy(_ => random.Next()).Take(3)];
            }

            await connection.SubscribeAsync(chosen);
        });
        return await PublishAndCheckAsync(server, connections, checker, Channels, rate, seconds, 1) && connections.Count == count ? 0 : 1;
    }

    /// <summary>480 connections, 120 channels with 4 subscribers each, 2 messages a second and channel, a burst of ×8 for 3 s.</summary>
    public static async Task<int> OpenLoopAsync(RunOptions options)
    {
        int count = options.Get("--count", 480);
        int channels = options.Get("--channels", 120);
        int rate = options.Get("--rate", 2);
        int burst = options.Get("--burst", 8);
        int seconds = options.Get("--seconds", 20);
        if (!HasRoomFor(count))
        {
            return 2;
        }

        using var server = new ServerProcess();
        await server.CommandAsync($"create {channels}");
        var checker = new LoadChecker();
        List<LoadConnection> connections = await RampAsync(server, count, 500, checker);
        for (int i = 0; i < connections.Count; i++)
        {
            await connections[i].SubscribeAsync(i % channels);
        }

        return await PublishAndCheckAsync(server, connections, checker, channels, rate, seconds, burst) && connections.Count == count
            ? 0
            : 1;
    }

    /// <summary>Subscribers that leave two fifths of the limit to visitors, agents and everything else.</summary>
    internal static int MostSubscribers(int limit) => (int)(limit * 3L / 5);

    /// <summary>Fails before the run, and not in the middle of it: limits on open files may be hard.</summary>
    internal static bool HasRoomFor(int count)
    {
        int limit = OpenFiles.Limit();
        if (MostSubscribers(limit) >= count)
        {
            return true;
        }

        Console.Error.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{count} connections need a limit of {(count * 5L / 3) + 1} open files, and here it is {limit}: raise it (ulimit -n), ")
            + string.Create(CultureInfo.InvariantCulture, $"or ask for fewer with --count {MostSubscribers(limit)}"));
        return false;
    }

    private static async Task<List<LoadConnection>> RampAsync(ServerProcess server, int count, int ramp, LoadChecker checker)
    {
        var connections = new List<LoadConnection>(count);
        var pending = new List<Task<LoadConnection>>();
        long start = Stopwatch.GetTimestamp();
        int refused = 0;
        for (int i = 0; i < count; i++)
        {
            TimeSpan due = TimeSpan.FromSeconds(i / (double)ramp) - Stopwatch.GetElapsedTime(start);
            if (due > TimeSpan.FromMilliseconds(2))
            {
                await Task.Delay(due);
            }

            pending.Add(LoadConnection.ConnectAsync(server.Port, i, checker));
        }

        foreach (Task<LoadConnection> connecting in pending)
        {
            try
            {
                LoadConnection connection = await connecting.WaitAsync(TimeSpan.FromSeconds(60));
                connections.Add(connection);
                _ = connection.ReadAllAsync();
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException or TimeoutException)
            {
                if (refused++ == 0)
                {
                    Console.WriteLine($"a connection failed: {e.Message}");
                }
            }
        }

        Console.WriteLine(
            string.Create(
                CultureInfo.InvariantCulture, $"ramp took {Stopwatch.GetElapsedTime(start).TotalSeconds:0.0} s, {refused} failed"));
        return connections;
    }

    private static async Task<bool> PublishAndCheckAsync(
        ServerProcess server, List<LoadConnection> connections, LoadChecker checker, int channels, int rate, int seconds, int burst)
    {
        int wanted = connections.Sum(connection => connection.Last.Count);
        if (!await UntilAsync(() => Task.FromResult(connections.Sum(connection => connection.Snapshots) == wanted)))
        {
            Console.WriteLine($"only {connections.Sum(connection => connection.Snapshots)} of {wanted} snapshots came");
            return false;
        }

        checker.Restart();
        using var hiccups = new HiccupMeter();
        long start = Stopwatch.GetTimestamp();
        string[] answer = await server.CommandAsync($"publish {channels} {rate} {seconds} {burst}");
        long[] counts = [.. answer[2..].Select(word => long.Parse(word, CultureInfo.InvariantCulture))];
        bool complete = await UntilAsync(() => Task.FromResult(
            connections.All(connection => connection.Last.All(last => last.Value == counts[last.Key]))));
        double elapsed = Stopwatch.GetElapsedTime(start).TotalSeconds;
        long phantoms = connections.Sum(connection => connection.Last.Count(last => last.Value > counts[last.Key]));
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"published {counts.Sum()} on {channels} channels; {checker.DeliveredCount / elapsed:0} messages/s; {checker}, phantoms "
                + $"{phantoms}; server's connections {answer[1]}; RSS {server.ReadResidentBytes() / 1e6:0.0} MB"));
        Console.WriteLine(hiccups.Finish());
        bool whole = connections.Count > 0
            && complete
            && checker.IsClean
            && phantoms == 0
            && answer[1] == connections.Count.ToString(CultureInfo.InvariantCulture);
        Console.WriteLine(whole ? "complete" : "NOT complete");
        return whole;
    }

    /// <summary>Whether a condition comes true within a time that is long enough.</summary>
    internal static async Task<bool> UntilAsync(Func<Task<bool>> condition)
    {
        long start = Stopwatch.GetTimestamp();
        while (!await condition())
        {
            if (Stopwatch.GetElapsedTime(start) > _settle)
            {
                return false;
            }

            await Task.Delay(20);
        }

        return true;
    }
}
