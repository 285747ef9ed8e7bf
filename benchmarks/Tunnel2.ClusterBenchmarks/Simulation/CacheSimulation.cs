namespace Tunnel2.ClusterBenchmarks.Simulation;

/// <summary>
/// One node's cache of 100,000 names under requests of a part of all visitors: which requests meet a name that it does not know, once it is
/// warm, and how many other nodes the requests of five minutes lead to. A full cache loses some entry for each new one.
/// </summary>
internal static class CacheSimulation
{
    private const int MaxNames = 100_000;
    private const int MaxDraws = 4_000_000;
    private static readonly TimeSpan _linkIdle = TimeSpan.FromMinutes(5);

    /// <param name="input">The cluster.</param>
    /// <param name="nodes">How many nodes it has.</param>
    /// <returns>The share of a node's requests that are misses, and the other nodes that it has links to.</returns>
    public static (double Misses, int Links) Run(SimulationInput input, int nodes)
    {
        var random = new Random(input.Seed);
        var popularity = new Popularity(input.Sessions, random);
        var owners = new int[input.Sessions];
        for (var i = 0; i < owners.Length; i++)
        {
            owners[i] = random.Next(nodes);
        }

        var places = new Dictionary<int, int>(MaxNames);
        var names = new List<int>(MaxNames);
        var perSecond = (double)input.Requests / nodes;
        var draws = (int)Math.Min(MaxDraws, Math.Max(perSecond * _linkIdle.TotalSeconds, 4.0 * MaxNames));
        var window = (int)Math.Min(draws, perSecond * _linkIdle.TotalSeconds);
        var linked = new HashSet<int>();
        long asked = 0;
        long missed = 0;
        for (var i = 0; i < draws; i++)
        {
            var name = popularity.Next();
            if (owners[name] == 0)
            {
                asked += i >= draws / 2 ? 1 : 0;
                continue;
            }

            if (i >= draws - window)
            {
                linked.Add(owners[name]);
            }

            var isKnown = places.ContainsKey(name);
            if (i >= draws / 2)
            {
                asked++;
                missed += isKnown ? 0 : 1;
            }

            if (!isKnown)
            {
                if (names.Count == MaxNames)
                {
                    var victim = random.Next(MaxNames);
                    places.Remove(names[victim]);
                    names[victim] = name;
                }
                else
                {
                    names.Add(name);
                }

                places[name] = 1;
            }
        }

        return ((double)missed / asked, linked.Count);
    }
}
