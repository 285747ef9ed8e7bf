namespace Tunnel2.ClusterBenchmarks.Simulation;

/// <summary>
/// A node dies, and its agents come back: each tries after a random wait of up to 2 s; the database serves registrations one after the
/// other; one that would take longer than a second fails, and is tried again after 2 to 4 s. A node whose call failed refuses others for a
/// quarter of a second, as it does in truth.
/// </summary>
internal static class StormSimulation
{
    private const double Deadline = 1;
    private const double Pause = 0.25;

    /// <param name="input">The cluster.</param>
    /// <param name="nodes">How many nodes it has.</param>
    /// <returns>When 99 in 100 and all are back, in seconds, and how many tries failed.</returns>
    public static (double Most, double All, long Failed) Run(SimulationInput input, int nodes)
    {
        var random = new Random(input.Seed);
        var count = input.Sessions / nodes;
        var tries = new PriorityQueue<int, double>(count);
        for (var i = 0; i < count; i++)
        {
            tries.Enqueue(i, random.NextDouble() * 2);
        }

        var each = 1.0 / input.Claims;
        var free = 0.0;
        var pausedUntil = new double[nodes];
        var back = new List<double>(count);
        var failed = 0L;
        while (tries.TryDequeue(out var session, out var at))
        {
            var node = random.Next(nodes);
            var done = Math.Max(free, at) + each;
            if (at < pausedUntil[node] || done - at > Deadline)
            {
                if (at >= pausedUntil[node])
                {
                    pausedUntil[node] = at + Deadline + Pause;
                }

                failed++;
                tries.Enqueue(session, at + 2 + (random.NextDouble() * 2));
                continue;
            }

            free = done;
            back.Add(done);
        }

        back.Sort();
        return (back[(int)((back.Count - 1) * 0.99)], back[^1], failed);
    }
}
