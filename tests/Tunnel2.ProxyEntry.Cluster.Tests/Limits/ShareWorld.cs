using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

/// <summary>Nodes that share one limit over a board to which calls are late or lost, in steps of 5 ms of a made-up time.</summary>
internal sealed class ShareWorld
{
    /// <summary>Steps in a second.</summary>
    public const int Second = 200;

    private const long Frequency = 1_000_000;

    private readonly Random _random;
    private readonly int _rate;
    private readonly List<Node> _nodes = [];
    private readonly Dictionary<string, (double Demand, double Share, TimeSpan At)> _board = [];
    private readonly List<int> _spent = [];
    private readonly List<int> _spentByLost = [];

    public ShareWorld(int seed, int rate, int burst, int nodes)
    {
        _random = new Random(seed);
        _rate = rate;
        for (var i = 0; i < nodes; i++)
        {
            _nodes.Add(new Node($"n{i}", rate, burst, Now));
        }
    }

    /// <summary>How likely it is that a call does not arrive, and that its answer does not.</summary>
    public double Lost { get; set; }

    /// <summary>The longest time of each way, in seconds.</summary>
    public double Delay { get; set; } = 0.1;

    /// <summary>Whether no call arrives.</summary>
    public bool IsDown { get; set; }

    /// <summary>For how long, in seconds and at most, a node that had no database does not notice that it is back.</summary>
    public double Wait { get; set; }

    /// <summary>The nodes of which no call arrives.</summary>
    public HashSet<int> CutOff { get; } = [];

    /// <summary>How far the database's clock was set, forwards or back.</summary>
    public TimeSpan Skew { get; set; }

    /// <summary>The nodes' demands: requests a second.</summary>
    public double[] Demands { get; set; } = [];

    /// <summary>The requests that were let through in each step.</summary>
    public IReadOnlyList<int> Spent => _spent;

    /// <summary>The shares that nodes spend.</summary>
    public double Shares => _nodes.Sum(static node => node.Limit.Share);

    /// <summary>What a node may spend.</summary>
    public double ShareOf(int node) => _nodes[node].Limit.Share;

    private TimeSpan Now => TimeSpan.FromSeconds(_spent.Count / (double)Second);

    /// <summary>The database's time.</summary>
    private TimeSpan Clock => Now + Skew;

    /// <summary>The nodes that have sessions.</summary>
    private IEnumerable<Node> Members => _nodes.Where(static node => node.HasSessions);

    /// <summary>A node dies. Its sessions are in the database until its agents are elsewhere.</summary>
    public void Kill(int node) => _nodes[node].IsDead = true;

    /// <summary>The sessions of a node are elsewhere, or come to it.</summary>
    public void Move(int node, bool hasSessions)
    {
        _nodes[node].HasSessions = hasSessions;
        foreach (var other in _nodes)
        {
            other.Limit.LookNow();
        }
    }

    /// <summary>Lets some time pass.</summary>
    public void Run(double seconds)
    {
        for (var end = _spent.Count + (int)(seconds * Second); _spent.Count < end;)
        {
            var (spent, spentByLost, anyLives) = (0, 0, Members.Any(HasLease));
            for (var i = 0; i < _nodes.Count; i++)
            {
                Renew(_nodes[i], i);
                if (_nodes[i] is { IsDead: false, HasSessions: true } node)
                {
                    var one = Visit(node, i < Demands.Length ? Demands[i] : 0);
                    spent += one;
                    spentByLost += anyLives && !HasLease(node) ? one : 0;
                    Exchange(node, i);
                }
            }

            _spent.Add(spent);
            _spentByLost.Add(spentByLost);
        }
    }

    /// <summary>What a node has let through until now.</summary>
    public int SpentBy(int node) => _nodes[node].Spent;

    /// <summary>The most and the least that was spent in a window, among those between two steps; to the end: null.</summary>
    /// <param name="from">The first step.</param>
    /// <param name="length">How long a window is.</param>
    /// <param name="to">The step after the last one.</param>
    /// <param name="withLost">Also what nodes have spent that are cut off from the database, and that others take for lost.</param>
    public (int Least, int Most) Windows(int from, int length, int? to = null, bool withLost = true)
    {
        int At(int step) => withLost ? _spent[step] : _spent[step] - _spentByLost[step];
        var (least, most, sum) = (int.MaxValue, 0, 0);
        for (var i = from; i < (to ?? _spent.Count); i++)
        {
            sum += At(i);
            if (i >= from + length)
            {
                sum -= At(i - length);
            }

            if (i >= from + length - 1)
            {
                (least, most) = (Math.Min(least, sum), Math.Max(most, sum));
            }
        }

        return (least, most);
    }

    private bool HasLease(Node node) => Clock - node.RenewedClock < ClusterTimes.Lease;

    private void Renew(Node node, int index)
    {
        if (node.IsDead || Now < node.RenewsAt)
        {
            return;
        }

        if (IsDown || CutOff.Contains(index))
        {
            node.HasDatabase = false;
            node.RenewsAt = Now + (Wait * TimeSpan.FromSeconds(_random.NextDouble()));
            return;
        }

        node.HasDatabase = true;
        node.RenewsAt = Now + TimeSpan.FromSeconds(2);
        node.RenewedClock = Clock;
    }

    private int Visit(Node node, double demand)
    {
        var spent = 0;
        for (node.Next += demand / Second; node.Next > 0;)
        {
            // As many as come by chance, at any moment.
            node.Next += Math.Log(1 - _random.NextDouble());
            node.Asked++;
            if (node.Bucket.TryTake(Ticks(Now)))
            {
                spent++;
                node.Spent++;
            }
            else
            {
                node.Refused++;
            }
        }

        return spent;
    }

    private void Exchange(Node node, int index)
    {
        if (node.ArrivesAt is null && node.AnsweredAt is null)
        {
            // As the loop does it: the first refused request wakes it.
            var wait = node.Refused > 0 && !node.IsPressed ? ShareTimes.Least : node.Wait;
            if (Now - node.Looked < (wait > ShareTimes.Least ? wait : ShareTimes.Least))
            {
                return;
            }

            node.Looked = Now;
            node.IsPressed = node.Refused > 0;
            node.Limit.Count(Now, node.Asked, node.Refused);
            (node.Asked, node.Refused) = (0, 0);
            node.Wait = node.Limit.DueIn(Now) is var due && due < ShareTimes.Slow ? due : ShareTimes.Slow;
            if (due > TimeSpan.Zero)
            {
                return;
            }

            (node.Began, node.GivesUpAt) = (Now, Now + node.Patience.Next);
            node.ArrivesAt = IsDown || CutOff.Contains(index) || !node.HasDatabase || _random.NextDouble() < Lost
                ? TimeSpan.MaxValue
                : Now + (Delay * TimeSpan.FromSeconds(_random.NextDouble()));
        }

        if (node.ArrivesAt <= Now)
        {
            node.ArrivesAt = null;
            Decide(node);
            node.AnsweredAt = _random.NextDouble() < Lost
                ? TimeSpan.MaxValue
                : Now + (Delay * TimeSpan.FromSeconds(_random.NextDouble()));
        }

        if (node.AnsweredAt <= Now || node.GivesUpAt <= Now)
        {
            if (node.AnsweredAt <= Now)
            {
                node.Patience.Took(Now - node.Began);
                node.Limit.Done(Now);
            }
            else
            {
                node.Patience.Lost();
                node.Limit.Failed(Now, Members.Count());
            }

            (node.ArrivesAt, node.AnsweredAt) = (null, null);
            node.Wait = node.Limit.DueIn(Now) is var due && due < ShareTimes.Slow ? due : ShareTimes.Slow;
            Set(node);
        }
    }

    private void Decide(Node node)
    {
        var share = node.Limit.Decide(Now, ShareView.Of(
            node.Name,
            _board.Select(pair => (new ShareReport(pair.Key, pair.Value.Demand, pair.Value.Share), Clock - pair.Value.At)),
            Members.ToDictionary(static member => member.Name, member => Clock - member.RenewedClock)));
        if (share is { } decided)
        {
            _board[node.Name] = (node.Limit.Demand, decided, Clock);
        }
        else
        {
            _board.Remove(node.Name);
        }

        Set(node);
    }

    private void Set(Node node) => node.Bucket.Change(
        Ticks(Now), _rate * node.Limit.Share, SessionRateLimit.SizeOf(node.Burst, node.Limit.Share));

    private static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Frequency);

    private sealed class Node(string name, int rate, int burst, TimeSpan now)
    {
        public string Name { get; } = name;

        public int Burst { get; } = burst;

        public NameLimit Limit { get; } = new(rate, now);

        public TokenBucket Bucket { get; } = new(Frequency, 0, rate * TierShares.Start, SessionRateLimit.SizeOf(burst, TierShares.Start));

        public TimeSpan Looked { get; set; } = now - ShareTimes.Slow;

        public TimeSpan? ArrivesAt { get; set; }

        public TimeSpan? AnsweredAt { get; set; }

        public TimeSpan Wait { get; set; }

        public CallPatience Patience { get; } = new(PostgresShares.Least, PostgresShares.Most);

        public TimeSpan Began { get; set; }

        public TimeSpan GivesUpAt { get; set; }

        public TimeSpan RenewsAt { get; set; } = now + TimeSpan.FromSeconds(2);

        public bool HasDatabase { get; set; } = true;

        public TimeSpan RenewedClock { get; set; }

        public bool IsDead { get; set; }

        public bool HasSessions { get; set; } = true;

        public bool IsPressed { get; set; }

        public int Spent { get; set; }

        public long Asked { get; set; }

        public long Refused { get; set; }

        public double Next { get; set; }
    }
}
