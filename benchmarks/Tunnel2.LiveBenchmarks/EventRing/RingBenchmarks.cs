namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>The verbs of <c>ring</c>.</summary>
internal static class RingBenchmarks
{
    internal static int Run(string[] args)
    {
        string verb = args.Length > 0 ? args[0] : "";
        return verb switch
        {
            "compare" => RingCompare.Run(Option(args, "--records", 500_000), Option(args, "--rounds", 7)),
            "readers" => RingReaders.Run(Option(args, "--records", 1_000_000)),
            "latency" => RingLatency.Run(Option(args, "--rate", 10_000), Option(args, "--seconds", 5), args.Contains("--blocked")),
            "latency-producer" => RingLatency.Produce(args[1], Option(args, "--rate", 10_000), Option(args, "--seconds", 5)),
            "crash" => RingCrash.Run(Option(args, "--kills", 20)),
            "crash-producer" => RingCrash.Produce(args[1]),
            _ => Usage(),
        };
    }

    /// <summary>The integer behind <paramref name="name"/>, or the default.</summary>
    internal static int Option(string[] args, string name, int otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? int.Parse(args[at + 1]) : otherwise;
    }

    private static int Usage()
    {
        Console.Error.WriteLine("usage: ring compare|readers|latency|crash [options] (see README.md)");
        return 2;
    }
}
