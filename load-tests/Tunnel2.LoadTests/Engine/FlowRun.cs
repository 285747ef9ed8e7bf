using Tunnel2.LoadTests.Exchanges;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Engine;

/// <summary>A flow while it runs: its schedule, its connections and what came of its arrivals. Only on the generator's thread.</summary>
internal sealed class FlowRun
{
    private const int MaxWaiting = 1_000_000;

    private readonly TrafficFlow _flow;
    private readonly ConnectionTable _table;
    private readonly ArrivalSchedule _schedule;
    private readonly Func<Exchange> _makeExchange;
    private readonly TargetOrder _order;
    private readonly long _start;
    private readonly Queue<Arrival> _waiting = new();
    private readonly Stack<LoadConnection> _idle = new();
    private readonly TimelineRecorder _timeline;
    private long _lastDue = -1;
    private long _lastLag;

    /// <summary>Prepares a flow.</summary>
    /// <param name="flow">The flow.</param>
    /// <param name="table">Where its connections are watched.</param>
    /// <param name="hosts">The tunnels that its requests go to, each once in a round.</param>
    /// <param name="start">The first arrival, in nanoseconds.</param>
    public FlowRun(TrafficFlow flow, ConnectionTable table, IReadOnlyList<string> hosts, long start)
    {
        (_flow, _table, _order, _start) = (flow, table, new TargetOrder(hosts.Count), start);
        _schedule = new ArrivalSchedule(flow.Steps, start);
        var heads = RequestHeads.Make(flow.Request, hosts, flow.NewConnectionEach);
        _makeExchange = flow.Request.Kind == RequestKind.WebSocket
            ? () => new WebSocketExchange(flow.Request, heads)
            : () => new HttpExchange(flow.Request, heads);
        Steps = [.. flow.Steps.Select(static _ => new StepStatistics())];
        Targets = [.. hosts.Select(static _ => new LatencyHistogram())];
        _timeline = new TimelineRecorder(start);
        TimeoutNanoseconds = flow.Timeout.Ticks * 100;
    }

    /// <summary>What came of it, by step.</summary>
    public IReadOnlyList<StepStatistics> Steps { get; }

    /// <summary>Latencies by target.</summary>
    public IReadOnlyList<LatencyHistogram> Targets { get; }

    /// <summary>What happened, second by second.</summary>
    public TimelineRecorder Timeline => _timeline;

    /// <summary>Bytes of correct bodies.</summary>
    public long BodyBytes { get; private set; }

    /// <summary>Connections that were opened.</summary>
    public long ConnectionsOpened { get; private set; }

    /// <summary>Connections that are open.</summary>
    public int Open { get; private set; }

    /// <summary>Requests of which nothing is known yet.</summary>
    public long Outstanding { get; private set; }

    /// <summary>How long an exchange may take.</summary>
    public long TimeoutNanoseconds { get; }

    /// <summary>Whether a connection carries more than one exchange.</summary>
    public bool KeepsConnections => !_flow.NewConnectionEach && _flow.Request.Kind != RequestKind.WebSocket;

    /// <summary>When the next arrival is due.</summary>
    public long NextDue => _schedule.Due;

    /// <summary>Whether nothing is left to do.</summary>
    public bool IsOver => _schedule.IsOver && Outstanding == 0;

    /// <summary>The tunnel that an arrival is for.</summary>
    public int TargetOf(long index) => _order[index];

    /// <summary>Starts what is due.</summary>
    /// <param name="now">When this turn began.</param>
    public void StartDue(long now)
    {
        while (_schedule.Due <= now)
        {
            // Arrivals of one instant have the lag of the first: what sending them one by one takes is in their latencies.
            if (_schedule.Due != _lastDue)
            {
                _lastDue = _schedule.Due;
                _lastLag = LoopClock.Now - _lastDue;
            }

            var arrival = new Arrival(_schedule.Due, _schedule.Step, _schedule.Index);
            var step = Steps[arrival.Step];
            step.Arrivals++;
            step.Lag.Record(_lastLag);
            _timeline.CountArrival();
            Outstanding++;
            if (_schedule.Advance() && _flow.StopAtKnee && !KneeFinder.IsHeldAtItsEnd(_flow.Steps[arrival.Step], step))
            {
                _schedule.Stop();
            }

            if (_waiting.Count > 0 || !TryStart(arrival))
            {
                Queue(arrival);
            }
        }
    }

    /// <summary>Gives connections that became free to those that wait.</summary>
    public void StartWaiting()
    {
        while (_waiting.TryPeek(out var arrival) && TryStart(arrival))
        {
            _waiting.Dequeue();
        }
    }

    /// <summary>Gives up what has waited too long, and closes an interval.</summary>
    public void OnTick(long now)
    {
        while (_waiting.TryPeek(out var arrival) && now - arrival.Due > TimeoutNanoseconds)
        {
            _waiting.Dequeue();
            CountFailure(arrival, FailureKind.NotSent, "no connection was free in time");
        }

        _timeline.OnTick(now, _waiting.Count, Open, _schedule.IsOver);
    }

    /// <summary>Ends the schedule; what is under way or waits stays unknown.</summary>
    public void Stop() => _schedule.Stop();

    /// <summary>An exchange was complete and correct.</summary>
    public void OnSucceeded(LoadConnection connection, long now, long bodyBytes)
    {
        var arrival = connection.Current;
        var latency = now - arrival.Due;
        Steps[arrival.Step].Succeed(latency);
        Targets[TargetOf(arrival.Index)].Record(latency);
        _timeline.CountOk(latency);
        BodyBytes += bodyBytes;
        Outstanding--;
        if (connection.IsClosed)
        {
            Open--;
        }
        else
        {
            _idle.Push(connection);
        }
    }

    /// <summary>An exchange failed, and its connection is closed.</summary>
    public void OnFailed(LoadConnection connection, FailureKind kind, string detail)
    {
        Open--;
        CountFailure(connection.Current, kind, detail);
    }

    /// <summary>An unused connection ended.</summary>
    public void OnDropped() => Open--;

    private bool TryStart(in Arrival arrival)
    {
        while (_idle.TryPop(out var idle))
        {
            if (!idle.IsClosed)
            {
                idle.Start(arrival);
                return true;
            }
        }

        if (Open >= _flow.MaxConnections)
        {
            return false;
        }

        Open++;
        ConnectionsOpened++;
        _table.Open(this, _makeExchange(), _flow.ReadBytesPerSecond ?? 0, arrival);
        return true;
    }

    private void Queue(in Arrival arrival)
    {
        if (_waiting.Count >= MaxWaiting)
        {
            CountFailure(arrival, FailureKind.NotSent, "the queue for a connection was full");
        }
        else
        {
            _waiting.Enqueue(arrival);
        }
    }

    private void CountFailure(in Arrival arrival, FailureKind kind, string detail)
    {
        Steps[arrival.Step].Failures.Add(kind, detail, (double)(arrival.Due - _start) / LoopClock.Second);
        _timeline.CountFailure();
        Outstanding--;
    }
}
