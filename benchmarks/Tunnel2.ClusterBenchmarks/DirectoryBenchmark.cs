using System.Diagnostics;
using System.Globalization;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ClusterBenchmarks;

/// <summary>
/// What the directory of a cluster carries: each kind of call as often as it goes, with as many at once as a node has connections.
/// </summary>
internal static class DirectoryBenchmark
{
    private const int AtOnce = 8;
    private static readonly TimeSpan _lease = TimeSpan.FromHours(1);

    public static async Task RunAsync(string database, TimeSpan duration)
    {
        await using var store = new PostgresStore(database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(10));
        await store.PrepareAsync(CancellationToken.None);
        var facts = new NodeFacts("bench", Guid.NewGuid(), "127.0.0.1:1", "bench");
        var lease = (await store.AcquireAsync(facts, _lease, true, 0, CancellationToken.None))!;
        var heard = 0L;
        using var stop = new CancellationTokenSource();
        var listening = new TaskCompletionSource();
        var hearing = store.ListenAsync(
            listening.SetResult, _ => Interlocked.Increment(ref heard), static _ => { }, static _ => { }, stop.Token);
        await listening.Task;
        await MeasureAsync("registrations, new names", duration, number => store.ClaimAsync(lease, Claim(number), CancellationToken.None));
        var noticed = Interlocked.Read(ref heard);
        await MeasureAsync("registrations, known names", duration, number => store.ClaimAsync(
            lease, Claim(number % 1000), CancellationToken.None));
        await MeasureAsync("look-ups, known names", duration, number => store.LocateAsync(NameOf(number % 1000), CancellationToken.None));
        await MeasureAsync("look-ups, unknown names", duration, number => store.LocateAsync($"none-{number}", CancellationToken.None));
        await MeasureAsync("renewals of one lease", duration, _ => store.RenewAsync(facts, lease, _lease, 0, CancellationToken.None));
        await MeasureAsync("sums over all names", duration, _ => store.SumAsync(lease, CancellationToken.None));
        await MeasureAsync("portions of 200 names again", duration, number => store.PublishAsync(
            lease, [.. Enumerable.Range((int)(number % 50) * 200, 200).Select(static name => Claim(name))], CancellationToken.None));
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"notices heard of the first kind: {noticed}"));
        await store.ReleaseAsync(lease, CancellationToken.None);
        await stop.CancelAsync();
        await hearing.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private static string NameOf(long number) => string.Create(CultureInfo.InvariantCulture, $"bench-{number:0000000}");

    private static NameClaim Claim(long number)
    {
        var digest = new byte[32];
        BitConverter.TryWriteBytes(digest, number);
        return new NameClaim(NameOf(number), digest, digest, digest);
    }

    private static async Task MeasureAsync(string what, TimeSpan duration, Func<long, Task> call)
    {
        var number = -1L;
        var failed = 0L;
        var clock = Stopwatch.StartNew();
        var times = await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => Task.Run(async () =>
        {
            var mine = new List<double>();
            while (clock.Elapsed < duration)
            {
                var began = clock.Elapsed;
                try
                {
                    await call(Interlocked.Increment(ref number));
                    mine.Add((clock.Elapsed - began).TotalMilliseconds);
                }
                catch (StoreUnavailableException)
                {
                    Interlocked.Increment(ref failed);
                }
            }

            return mine;
        })));
        var sorted = times.SelectMany(static part => part).Order().ToArray();
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{what,-28} {sorted.Length / clock.Elapsed.TotalSeconds,8:0}/s, p50 {At(0.5):0.00} ms, p99 {At(0.99):0.00} ms, "
                + $"{failed} failed"));

        double At(double part) => sorted.Length == 0 ? 0 : sorted[(int)((sorted.Length - 1) * part)];
    }
}
