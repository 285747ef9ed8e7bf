using System.Diagnostics;
using Tunnel2.IdleConnections;

var options = IdleOptions.Parse(args);
if (options is null)
{
    Console.Error.WriteLine(IdleOptions.Usage);
    return 2;
}

using var stop = new CancellationTokenSource(options.Duration + TimeSpan.FromMinutes(5));
var before = Show("before");
var connections = Enumerable.Range(0, options.Count)
    .Select(
        number => options.IsSessions ? (IIdleConnection)new IdleSession(options, number) : new IdleWebSocket(options, number)).ToArray();
var parallel = new ParallelOptions { MaxDegreeOfParallelism = 64, CancellationToken = stop.Token };
await Parallel.ForEachAsync(connections, parallel, static async (connection, token) => await connection.OpenAsync(token));
var since = Stopwatch.GetTimestamp();
Show("open");
while (Stopwatch.GetElapsedTime(since) is var elapsed && elapsed < options.Duration)
{
    var left = options.Duration - elapsed;
    await Task.Delay(left < TimeSpan.FromSeconds(10) ? left : TimeSpan.FromSeconds(10), stop.Token);
    Show($"{Stopwatch.GetElapsedTime(since).TotalSeconds:F0} s");
}

var after = ResidentMemory.Read(options.Pids);
await Parallel.ForEachAsync(connections, parallel, static async (connection, token) => await connection.CheckAsync(token));
Console.WriteLine($"all {connections.Length} live");
Show("checked");
foreach (var connection in connections)
{
    connection.Dispose();
}

var each = (after.Sum() - before.Sum()) / (double)options.Count;
Console.WriteLine($"{after.Sum() / 1024.0:F0} MB in all, {each:F1} KB for each connection");
return after.Sum() / 1024.0 <= options.LimitMegabytes && each <= options.LimitKilobytesEach ? 0 : 1;

long[] Show(string what)
{
    var memory = ResidentMemory.Read(options.Pids);
    Console.WriteLine($"{what,-8} {string.Join(" + ", memory.Select(kilobytes => $"{kilobytes / 1024.0:F1}"))} MB");
    return memory;
}
