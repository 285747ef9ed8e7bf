using System.Diagnostics.CodeAnalysis;
using System.Net;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Engine;

/// <summary>
/// The generator: one thread that starts requests when they are due, also while the ones before wait (an open loop), and checks every
/// answer. A latency runs from the intended start, so that a stall shows in every request that it delayed. Linux only.
/// </summary>
internal sealed class LoadEngine
{
    private const long Tick = 10 * LoopClock.Millisecond;
    private const long HeadStart = 5 * LoopClock.Millisecond;

    private readonly LoadScenario _scenario;
    private readonly IPEndPoint _endPoint;
    private readonly IReadOnlyList<string> _hosts;
    private volatile FlowRun[] _flows = [];

    /// <summary>Prepares a run.</summary>
    /// <param name="scenario">What to do; its schedule is taken as it is.</param>
    /// <param name="endPoint">Where all connections go.</param>
    /// <param name="hosts">The tunnels' hosts, at least one.</param>
    public LoadEngine(LoadScenario scenario, IPEndPoint endPoint, IReadOnlyList<string> hosts)
    {
        (_scenario, _endPoint, _hosts) = (scenario, endPoint, hosts);
    }

    /// <summary>The seconds that are over, by flow. From any thread.</summary>
    public IReadOnlyList<IReadOnlyCollection<TimelinePoint>> Timelines => [.. _flows.Select(static flow => flow.Timeline.Points)];

    /// <summary>Runs to the end, or until it is stopped: what is under way then stays unfinished.</summary>
    [SuppressMessage("Design", "CA1031", Justification = "The caller that waits gets any exception.")]
    public Task<EngineResult> RunAsync(CancellationToken cancellationToken)
    {
        var done = new TaskCompletionSource<EngineResult>(TaskCreationOptions.RunContinuationsAsynchronously);
        var thread = new Thread(() =>
        {
            try
            {
                done.SetResult(Run(cancellationToken));
            }
            catch (Exception e)
            {
                done.SetException(e);
            }
        })
        { IsBackground = true, Name = "Load generator" };
        thread.Start();
        return done.Task;
    }

    private EngineResult Run(CancellationToken cancellationToken)
    {
        var priority = Poller.RaisePriority();
        using var poller = new Poller();
        using var table = new ConnectionTable(poller, _endPoint);
        var start = LoopClock.Now + HeadStart;
        var flows = _scenario.Flows.Select(flow => new FlowRun(flow, table, _hosts, start)).ToArray();
        _flows = flows;
        Loop(flows, poller, table, cancellationToken);
        var end = LoopClock.Now;
        foreach (var flow in flows)
        {
            flow.Timeline.End(end);
        }

        return new EngineResult(
            [.. flows.Select((flow, i) => FlowResult.From(_scenario.Flows[i], flow))],
            TimeSpan.FromTicks((end - start) / 100), cancellationToken.IsCancellationRequested, priority);
    }

    private static void Loop(FlowRun[] flows, Poller poller, ConnectionTable table, CancellationToken cancellationToken)
    {
        var nextTick = LoopClock.Now + Tick;
        while (!cancellationToken.IsCancellationRequested)
        {
            var now = LoopClock.Now;
            if (now >= nextTick)
            {
                nextTick = now + Tick;
                table.OnTick(now);
                foreach (var flow in flows)
                {
                    flow.OnTick(now);
                }
            }

            var until = nextTick;
            var isOver = true;
            foreach (var flow in flows)
            {
                flow.StartWaiting();
                flow.StartDue(LoopClock.Now);
                until = Math.Min(until, flow.NextDue);
                isOver &= flow.IsOver;
            }

            if (isOver)
            {
                return;
            }

            var events = poller.Wait(until);
            for (var i = 0; i < events; i++)
            {
                var (token, mask) = poller[i];
                table.OnEvent(token, mask);
            }
        }

        foreach (var flow in flows)
        {
            flow.Stop();
        }
    }
}
