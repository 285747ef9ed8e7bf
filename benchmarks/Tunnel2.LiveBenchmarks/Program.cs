using BenchmarkDotNet.Running;
using Tunnel2.LiveBenchmarks.Aggregation;
using Tunnel2.LiveBenchmarks.Capacity;
using Tunnel2.LiveBenchmarks.EventRing;
using Tunnel2.LiveBenchmarks.MessageStore;
using Tunnel2.LiveBenchmarks.Records;
using Tunnel2.LiveBenchmarks.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks;

/// <summary>Runs one of the measurements by name, or BenchmarkDotNet with the arguments that it was given. See README.md.</summary>
internal static class Program
{
    private static int Main(string[] args) => args.FirstOrDefault() switch
    {
        "ring" => RingBenchmarks.Run(args[1..]),
        "relay" => RelayBenchmarks.Run(args[1..]),
        "aggregation" => AggregationBenchmarks.Run(args[1..]),
        "checksum" => ChecksumRace.Run(),
        "store-race" => StoreRace.Run(args.AsSpan(1)),
        "capacity" => CapacityBenchmark.Run(args[1..]),
        "hub-publish" => HubPublishRace.Run(args.AsSpan(1)),
        "index-race" => IndexRace.Run(args.AsSpan(1)),
        "index-incident" => IndexIncident.Run(args.AsSpan(1)),
        _ => RunBenchmarks(args),
    };

    private static int RunBenchmarks(string[] args)
    {
        BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(args);
        return 0;
    }
}
