namespace Tunnel2.ClusterFaults.Cases;

/// <summary>All cases.</summary>
internal static class FaultCases
{
    /// <summary>In the order in which they run.</summary>
    public static IReadOnlyList<FaultCase> All { get; } =
    [
        new("rolling", "every node restarted in turn: 0 failed, 0 truncated, WebSockets get 1001 and return", 60, NodeCases.RollingAsync),
        new("upgrade", "an older release updated node by node, one of them back and forth: 0 failed, WebSockets get 1001 and return", 40,
            NodeCases.UpgradeAsync)
        {
            PrepareAsync = NodeCases.SetOlderAsync,
            Missing = NodeCases.NoOlder,
        },
        new("drain", "'cluster drain' of a node and its end: 0 failed, its names serve elsewhere within 5 s, WebSockets get 1001", 10,
            NodeCases.DrainAsync),
        new("kill", "kill -9 of a node: only its streams fail, its names serve elsewhere within 5 s, waiting requests survive", 10,
            NodeCases.KillAsync),
        new("pause", "a node is stopped and continues: it serves no name of another node", 60, NodeCases.PauseAsync),
        new("clock", "clocks an hour early and late: 0 failed, also through a restart", 20, NodeCases.ClockAsync)
        {
            PrepareAsync = NodeCases.SetClocksAsync,
            Missing = NodeCases.NoFakeTime,
        },
        new("certificates", "a node with an expired certificate or one of another cluster is refused, and the log says why", 10,
            CertificateCases.RunAsync)
        {
            PrepareAsync = CertificateCases.PrepareAsync,
        },
        new("storm", "a node of 1,000 agents dies: all back within 10 s, the others' p99 less than twice as long", 12, StormCase.RunAsync),
        new("slow-database", "the database answers 2 s late: 0 failed", 30, DatabaseCases.SlowAsync),
        new("frozen-database", "the database is stopped: 0 failed", 30, DatabaseCases.FrozenAsync),
        Cut("cut-nodes", "two nodes do not reach each other: only requests from one to the other fail", CutCases.NodesAsync),
        Cut("cut-nodes-one-way", "the same in one direction", CutCases.NodesOneWayAsync),
        Cut("cut-database", "a node does not reach the database: 0 failed", CutCases.DatabaseAsync),
        Cut("cut-database-one-way", "the same in one direction", CutCases.DatabaseOneWayAsync),
        Cut("cut-agents", "agents do not reach a node: they serve elsewhere within 25 s", CutCases.AgentsAsync),
        Cut("cut-agents-one-way", "the same in one direction", CutCases.AgentsOneWayAsync),
        Cut("cut-all", "a node reaches no machine: it says it is not ready, its names serve elsewhere within 25 s", CutCases.AllAsync),
    ];

    private static FaultCase Cut(string name, string promise, Func<CaseRun, Task> run) =>
        new(name, promise, 40, run) { NeedsCuts = true };
}
