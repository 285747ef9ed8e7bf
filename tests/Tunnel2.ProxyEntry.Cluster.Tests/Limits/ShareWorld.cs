using Tunnel2.ProxyEntry.Cluster.Limits;
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
    private readonly Dictionary<string, (double Demand, double Share, TimeSpan Until)> _board = [];
    private readonly List<int> _spent = [];

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

    /// <summary>A node that no call of arrives; null: none.</summary>
    public int? CutOff { get; set; }

    /// <summary>The nodes' demands: requests a second.</summary>
    public double[] Demands { get; set; } = [];

    /// <summary>The requests that were let through in each step.</summary>
    public IReadOnlyList<int> Spent => _spent;

    /// <summary>The shares that nodes spend.</summary>
    public double Shares => _nodes.Sum(static node => node.Limit.Share);

    /// <summary>What a node may spend.</summary>
    public double ShareOf(int node) => _nodes[node].Limit.Share;

    private TimeSpan Now => TimeSpan.FromSeconds(_spent.Count / (double)Second);

    /// <summary>Lets some time pass.</summary>
    public void Run(double seconds)
    {
        for (var end = _spent.Count + (int)(seconds * Second); _spent.Count < end;)
        {
            var spent = 0;
            for (var i = 0; i < _nodes.Count; i++)
            {
                spent += Visit(_nodes[i], i < Demands.Length ? Demands[i] : 0);
                Exchange(_nodes[i], i);
            }

            _spent.Add(spent);
        }
    }

    /// <summary>The most and the least that was spent in a window, among those that begin at or after a step.</summary>
    public (int Least, int Most) Windows(int from, int length)
    {
        var (least, most) = (int.MaxValue, 0);
        for (var i = from; i + length <= _spent.Count; i++)
        {
            var sum = 0;
            for (var j = 0; j < length; j++)
            {
                sum += _spent[i + j];
            }

            (least, most) = (Math.Min(least, sum), Math.Max(most, sum));
        }

        return (least, most);
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

            if (IsDown || CutOff == index || _random.NextDouble() < Lost)
            {
                (node.IsLost, node.AnsweredAt) = (true, Now + TimeSpan.FromSeconds(0.5));
            }
            else
            {
                node.ArrivesAt = Now + (Delay * TimeSpan.FromSeconds(_random.NextDouble()));
            }
        }

        if (node.ArrivesAt <= Now)
        {
            node.ArrivesAt = null;
            Decide(node);
            node.IsLost = _random.NextDouble() < Lost;
            node.AnsweredAt = Now + (node.IsLost ? TimeSpan.FromSeconds(0.5) : Delay * TimeSpan.FromSeconds(_random.NextDouble()));
        }

        if (node.AnsweredAt <= Now)
        {
            node.AnsweredAt = null;
            if (node.IsLost)
            {
                node.Limit.Failed(Now, _nodes.Count);
            }
            else
            {
                node.Limit.Done(Now);
            }

            node.IsLost = false;
            node.Wait = node.Limit.DueIn(Now) is var due && due < ShareTimes.Slow ? due : ShareTimes.Slow;
            Set(node);
        }
    }

    private void Decide(Node node)
    {
        var live = _board.Where(pair => pair.Value.Until > Now).ToList();
        var share = node.Limit.Decide(Now, new ShareView(
            live.FirstOrDefault(pair => pair.Key == node.Name).Value.Share,
            [.. live.Where(pair => pair.Key != node.Name).Select(pair => new ShareReport(pair.Key, pair.Value.Demand, pair.Value.Share))],
            _nodes.Count));
        if (share is { } decided)
        {
            _board[node.Name] = (node.Limit.Demand, decided, Now + ShareTimes.Expiry);
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

        public bool IsLost { get; set; }

        public bool IsPressed { get; set; }

        public long Asked { get; set; }

        public long Refused { get; set; }

        public double Next { get; set; }
    }
}
