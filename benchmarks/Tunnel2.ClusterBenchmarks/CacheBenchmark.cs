using System.Diagnostics;
using System.Globalization;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Locating;
using Tunnel2.ProxyEntry.Cluster.Postgres;

namespace Tunnel2.ClusterBenchmarks;

/// <summary>What a full cache of names of other nodes holds, and what a look at it and a notice take.</summary>
internal static class CacheBenchmark
{
    public static void Run()
    {
        const int Looks = 5_000_000;
        const int Notices = 500_000;
        var names = Enumerable.Range(0, LocationCache.MaxNames).Select(NameOf).ToArray();
        var nodes = Enumerable.Range(0, 10).Select(static number => (
            Id: string.Create(CultureInfo.InvariantCulture, $"n{number}"), Address: $"10.0.0.{number}:12004")).ToArray();
        var before = Settled();
        var cache = new LocationCache(TimeProvider.System);
        for (var i = 0; i < names.Length; i++)
        {
            // Each name and place as it comes from the database: strings of its own.
            var (id, address) = nodes[i % nodes.Length];
            cache.Set(
                new string(names[i].AsSpan()),
                new NodePlaces(new NodeLocation(new string(id.AsSpan()), new string(address.AsSpan()), i)));
        }

        var after = Settled();
        var clock = Stopwatch.StartNew();
        var found = 0;
        for (var i = 0; i < Looks; i++)
        {
            found += cache.TryGet(names[i * 7919L % names.Length], out _) ? 1 : 0;
        }

        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{cache.Count} names in the cache: {(after - before) / (double)names.Length:0} bytes a name, "
                + $"{(after - before) / 1024.0 / 1024.0:0.0} MiB in all; a look takes {clock.Elapsed.TotalNanoseconds / found:0} ns"));
        var payloads = names[..1000].Select(static (name, i) => string.Create(
            CultureInfo.InvariantCulture, $"0\n{name}\nn1\n{1_000_000 + i}\n10.0.0.1:12004\n{new string('a', 64)}")).ToArray();
        clock.Restart();
        for (var i = 0; i < Notices; i++)
        {
            if (PostgresListener.TryRead(payloads[i % payloads.Length], out var notice))
            {
                var places = new NodePlaces(new NodeLocation(notice!.Node, notice.LinkAddress, notice.Epoch + i));
                cache.Change(notice.Name, _ => places);
            }
        }

        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"a notice takes {clock.Elapsed.TotalMicroseconds / Notices:0.00} µs, without its way from the database"));
        GC.KeepAlive(cache);
    }

    private static string NameOf(int number) => string.Create(CultureInfo.InvariantCulture, $"customer-{number:000000}");

    private static long Settled()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        return GC.GetTotalMemory(forceFullCollection: true);
    }
}
