using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;

namespace Tunnel2.HubLoad;

/// <summary>
/// The case of the ancestor's incident: while messages are published, subscribers come and others leave by the clock, for any state of
/// those before. At the end all leave, and nothing of them may be left.
/// </summary>
internal sealed class ChurnRun : IDisposable
{
    private const int Channels = 5;
    private const int ChannelsEach = 3;
    private static readonly TimeSpan _reportEvery = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _tick = TimeSpan.FromMilliseconds(5);

    private readonly ServerProcess _server = new();
    private readonly LoadChecker _checker = new();
    private readonly Random _random = new(1);
    private readonly Lock _gate = new();
    private readonly List<LoadConnection> _present = [];
    private readonly Dictionary<string, int> _refused = [];
    private readonly List<Task> _connecting = [];
    private int _tried;
    private int _left;

    public static async Task<int> RunAsync(RunOptions options)
    {
        int count = options.Get("--count", 4000);
        if (!LoadRun.HasRoomFor(count + options.Get("--connects", 100)))
        {
            return 2;
        }

        using var run = new ChurnRun();
        return await run.RunAsync(count, options) ? 0 : 1;
    }

    public void Dispose() => _server.Dispose();

    private async Task<bool> RunAsync(int count, RunOptions options)
    {
        await _server.CommandAsync($"create {Channels}");
        int sockets = _server.CountSockets();
        await PaceAsync(count / (double)options.Get("--ramp", 500), options.Get("--ramp", 500), 0, () => Task.CompletedTask);
        await Task.WhenAll(_connecting);
        Console.WriteLine($"{_present.Count} of {count} connected");

        int seconds = options.Get("--seconds", 40);
        await _server.CommandAsync(string.Create(
            CultureInfo.InvariantCulture, $"begin {Channels} {options.Get("--rate", 10)} {seconds} 1"));
        Console.WriteLine("| s | came | left | refused | connected, here / hub / guard | processors of the server | messages/s |");
        Console.WriteLine("|---|---|---|---|---|---|---|");
        _tried = 0;
        long start = Stopwatch.GetTimestamp();
        long last = start;
        TimeSpan cpu = _server.Cpu;
        long delivered = 0;
        await PaceAsync(seconds, options.Get("--connects", 100), options.Get("--disconnects", 100), async () =>
        {
            if (Stopwatch.GetElapsedTime(last) >= _reportEvery)
            {
                await ReportAsync();
            }
        });
        if (Stopwatch.GetElapsedTime(last) > _reportEvery / 2)
        {
            await ReportAsync();
        }

        await Task.WhenAll(_connecting);
        return await EndAsync(sockets);

        async Task ReportAsync()
        {
            double elapsed = Stopwatch.GetElapsedTime(last).TotalSeconds;
            last = Stopwatch.GetTimestamp();
            (int connections, int admitted, _, _) = await _server.StateAsync();
            double used = (_server.Cpu - cpu).TotalSeconds / elapsed;
            double rate = (_checker.DeliveredCount - delivered) / elapsed;
            (cpu, delivered) = (_server.Cpu, _checker.DeliveredCount);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"| {Stopwatch.GetElapsedTime(start).TotalSeconds:0} | {_tried} | {_left} | {Refusals()} | {Present()} / {connections} / "
                    + $"{admitted} | {used:0.00} | {rate:0} |"));
        }
    }

    private async Task<bool> EndAsync(int sockets)
    {
        string[] answer = await _server.CommandAsync($"counts {Channels}");
        long[] counts = [.. answer[2..].Select(static word => long.Parse(word, CultureInfo.InvariantCulture))];
        bool complete = await LoadRun.UntilAsync(
            () => Task.FromResult(_present.TrueForAll(one => one.Last.All(last => last.Value == counts[last.Key]))));
        Console.WriteLine($"published {counts.Sum()}; {_checker}; {(complete ? "complete" : "NOT complete")} at all who stayed");
        _present.ForEach(static one => one.Leave());
        (int Connections, int Admitted, int Sockets) left = default;
        bool empty = await LoadRun.UntilAsync(async () =>
        {
            (left.Connections, left.Admitted, _, _) = await _server.StateAsync();
            left.Sockets = _server.CountSockets() - sockets;
            return left.Connections == 0 && left.Admitted == 0 && left.Sockets <= 0;
        });
        Console.WriteLine(
            $"phantom connections after all have left: hub {left.Connections}, guard {left.Admitted}, sockets {Math.Max(0, left.Sockets)}");
        return complete && empty && _checker.IsClean;
    }

    /// <summary>Each connection that comes or leaves is due at a time that does not depend on those before.</summary>
    private async Task PaceAsync(double seconds, int connects, int disconnects, Func<Task> onTick)
    {
        long start = Stopwatch.GetTimestamp();
        int came = 0;
        int left = 0;
        double elapsed;
        do
        {
            elapsed = Math.Min(seconds, Stopwatch.GetElapsedTime(start).TotalSeconds);
            for (; came < (int)(elapsed * connects); came++)
            {
                _connecting.Add(ConnectAsync(_tried++));
            }

            for (; left < (int)(elapsed * disconnects); left++)
            {
                Leave();
            }

            await onTick();
            await Task.Delay(_tick);
        }
        while (elapsed < seconds);
    }

    private async Task ConnectAsync(int number)
    {
        try
        {
            LoadConnection connection = await LoadConnection.ConnectAsync(_server.Port, number, _checker);
            int first;
            lock (_gate)
            {
                first = _random.Next(Channels);
            }

            _ = connection.ReadAllAsync();
            await connection.SubscribeAsync([.. Enumerable.Range(0, ChannelsEach).Select(i => (first + i) % Channels)]);
            lock (_gate)
            {
                _present.Add(connection);
            }
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            string reason = (e as RefusedException)?.Reason ?? e.GetType().Name;
            lock (_gate)
            {
                _refused[reason] = _refused.GetValueOrDefault(reason) + 1;
            }
        }
    }

    private void Leave()
    {
        LoadConnection leaving;
        lock (_gate)
        {
            if (_present.Count == 0)
            {
                return;
            }

            int which = _random.Next(_present.Count);
            leaving = _present[which];
            _present[which] = _present[^1];
            _present.RemoveAt(_present.Count - 1);
        }

        _left++;
        leaving.Leave();
    }

    private int Present()
    {
        lock (_gate)
        {
            return _present.Count;
        }
    }

    private string Refusals()
    {
        lock (_gate)
        {
            return _refused.Count == 0 ? "0" : string.Join(", ", _refused.Select(static pair => $"{pair.Key} {pair.Value}"));
        }
    }
}
