using Tunnel2.LiveBenchmarks.Aggregation;
using Tunnel2.LiveBenchmarks.EventRing;

string area = args.Length > 0 ? args[0] : "";
string[] rest = args.Length > 1 ? args[1..] : [];
switch (area)
{
    case "ring":
        return RingBenchmarks.Run(rest);
    case "relay":
        return RelayBenchmarks.Run(rest);
    case "aggregation":
        return AggregationBenchmarks.Run(rest);
    default:
        Console.Error.WriteLine("usage: Tunnel2.LiveBenchmarks ring|relay|aggregation … (see README.md)");
        return 2;
}
