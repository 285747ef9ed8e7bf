using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Model;

/// <summary>One random history of three nodes, and what must hold in it and after it.</summary>
internal sealed class History
{
    private const int Steps = 60;

    /// <summary>Of each kind of session, and one of all kinds.</summary>
    private static readonly string[] _names = ["a", "b", "pool", "spread", "mixed"];
    private static readonly string[] _agents = ["one", "two"];

    private readonly Random _random;
    private readonly ManualTimeProvider _clock = new();
    private readonly MemoryTables _tables;
    private readonly Member[] _members;
    private readonly List<Registered> _all = [];
    private readonly AgentIdentity[] _processes =
        [.. Enumerable.Range(1, 3).Select(static i => AgentIdentity.OfInstance(Enumerable.Repeat((byte)i, 16).ToArray()))];

    private readonly List<string> _story = [];
    private (object Copy, DateTimeOffset At)? _copy;

    public History(Random random)
    {
        _random = random;
        _tables = new MemoryTables(_clock);
        _members = [.. Enumerable.Range(1, 3).Select(index => new Member($"n{index}"))];
        foreach (var member in _members)
        {
            Start(member);
        }

        _tables.Changed += notice =>
        {
            foreach (var member in _members)
            {
                if (member.Listens)
                {
                    member.Notices.Enqueue(notice);
                }
            }
        };
    }

    public async Task RunAsync()
    {
        try
        {
            foreach (var member in _members)
            {
                await member.Node.StepAsync();
            }

            for (var i = 0; i < Steps; i++)
            {
                await DoSomethingAsync();
                CheckFences();
            }

            await HealAsync();
            CheckOwners();
        }
        catch (Exception exception) when (exception is not InvalidOperationException)
        {
            throw new InvalidOperationException($"{exception.Message}\n{string.Join('\n', _story)}", exception);
        }
    }

    private async Task DoSomethingAsync()
    {
        var member = _members[_random.Next(_members.Length)];
        switch (_random.Next(100))
        {
            case < 30 when !member.IsPaused:
                await RegisterAsync(member);
                break;
            case < 42:
                await EndOneAsync();
                break;
            case < 60 when !member.IsPaused:
                Tell($"{member.Name} steps");
                await member.Node.StepAsync();
                break;
            case < 72 when !member.IsPaused:
                Deliver(member, _random.Next(1, 4));
                break;
            case < 80:
                var by = TimeSpan.FromSeconds(_random.Next(4) == 0 ? 12 : _random.Next(1, 4));
                Tell($"{by.TotalSeconds} s pass");
                _clock.Advance(by);
                break;
            case < 86:
                Tell($"{member.Name} {(member.Store.Trouble is null ? "loses" : "finds")} the database");
                member.Store.LosesAnswers = _random.Next(2) == 0;
                member.Store.Trouble = member.Store.Trouble is null ? "cut" : null;
                break;
            case < 90:
                member.IsPaused = !member.IsPaused;
                Tell($"{member.Name} {(member.IsPaused ? "is paused" : "continues")}");
                break;
            case < 93:
                member.Listens = !member.Listens;
                member.Notices.Clear();
                if (member.Listens)
                {
                    member.Node.Keeper.AskForComparison();
                }

                Tell($"{member.Name} {(member.Listens ? "hears" : "hears nothing")}");
                break;
            case < 95:
                Tell($"{member.Name} is killed and started again");
                foreach (var registered in _all.Where(one => one.Node == member.Node))
                {
                    registered.IsOver = true;
                }

                Start(member);
                break;
            case < 97:
                var withNodes = _random.Next(2) == 0;
                Tell($"the tables are emptied{(withNodes ? "" : ", but for the nodes")}");
                _tables.Truncate(withNodes);
                break;
            case < 99 when _copy is null:
                Tell("a copy is made");
                _copy = (_tables.Copy(), _clock.GetUtcNow());
                break;
            case >= 99 when _copy is { } old && _clock.GetUtcNow() - old.At > TimeSpan.FromSeconds(11):
                // Which takes longer than a second: epochs run ahead of the clock.
                Tell("the copy is put back");
                _clock.Advance(TimeSpan.FromSeconds(2));
                _tables.Restore(((Dictionary<string, MemoryTables.NodeRow>, Dictionary<string, MemoryTables.NameRow[]>, long))old.Copy);
                break;
        }
    }

    private async Task RegisterAsync(Member member)
    {
        var name = _names[_random.Next(_names.Length)];
        var agent = _agents[_random.Next(8) == 0 ? 1 : 0];
        var kind = name switch
        {
            "pool" => 1,
            "spread" => 2,
            "mixed" => _random.Next(4),
            _ => 0,
        };
        var process = _random.Next(_processes.Length);
        var session = TestNode.CreateSession(
            name, agent, instance: kind == 0 ? null : _processes[process],
            member: kind is 1 or 3 ? TestNode.CreateMember(_clock) : null, isSpread: kind >= 2);
        var result = await member.Node.RegisterAsync(session);
        Tell($"{agent} registers {name} ({kind}, process {process}) at {member.Name}: {result.Status} {member.Node.EpochOf(session)}");
        if (result.Status == RegistrationStatus.Registered)
        {
            // Whose agent hands over gives its name to the next one at once, and ends by itself.
            foreach (var former in _all.Where(one => one.IsHandingOver && one.Node == member.Node && one.Session.Name == name
                && !NameShare.AreBeside(Digests.ShareOf(one.Session, member.Name), Digests.ShareOf(session, member.Name))))
            {
                former.IsOver = true;
            }

            _all.Add(new Registered(member.Node, session));
        }
        else if (result.Status == RegistrationStatus.PoolNotPossible)
        {
            Assert.NotEmpty(result.Reason!);
        }
        else if (result.Status == RegistrationStatus.Unavailable)
        {
            Assert.NotEmpty(result.Reason!);
            Assert.True(result.FreeIn > TimeSpan.Zero);

            // The database may have got it, and its answer was lost.
            _all.Add(new Registered(member.Node, session) { IsOver = true });
        }
    }

    private async Task EndOneAsync()
    {
        var candidates = _all.Where(static one => !one.IsOver).ToList();
        if (candidates.Count == 0)
        {
            return;
        }

        var one = candidates[_random.Next(candidates.Count)];
        if (_members.First(member => member.Node == one.Node).IsPaused)
        {
            return;
        }

        var (session, directory) = (one.Session, one.Node.Directory);
        switch (_random.Next(5))
        {
            case 4 when session.Member is { } health:
                Tell($"the service of a session of {session.Name} changes at {one.Node.State.Facts.Node}");
                health.Report(health.IsHealthy ? ServiceState.Unhealthy : ServiceState.Healthy, ++one.Reports);
                directory.ReportHealth(session);
                return;
            case 0:
                Tell($"the agent of {session.Name} says that it will hand over at {one.Node.State.Facts.Node}");
                await directory.MarkHandingOverAsync(session.Name, session.Epoch, CancellationToken.None);
                one.IsHandingOver = true;
                return;
            case 1:
                Tell($"the agent of {session.Name} says goodbye at {one.Node.State.Facts.Node}");
                await directory.MarkLeavingAsync(session.Name, session.Epoch, CancellationToken.None);
                break;
            default:
                Tell($"the session of {session.Name} ends at {one.Node.State.Facts.Node}");
                await directory.UnregisterAsync(session.Name, session.Epoch, _random.Next(2) == 0, CancellationToken.None);
                break;
        }

        one.IsOver = true;
    }

    private void Deliver(Member member, int most)
    {
        for (; most > 0 && member.Notices.TryDequeue(out var notice); most--)
        {
            Tell($"{member.Name} hears of {notice.Name} {notice.Epoch} at {notice.Node}: {notice.State}");
            member.Node.Directory.Hear(notice);
        }
    }

    /// <summary>A node that was paused serves nothing before it has looked.</summary>
    private void CheckFences()
    {
        foreach (var member in _members)
        {
            if (!member.Node.State.MayServe)
            {
                Assert.All(_names, name => Assert.Empty(member.Node.FindAll(name)));
            }
        }
    }

    /// <summary>All faults end, and all has been said and heard.</summary>
    private async Task HealAsync()
    {
        Tell("all faults end");
        foreach (var member in _members)
        {
            member.IsPaused = false;
            member.Store.Trouble = null;
            if (!member.Listens)
            {
                member.Listens = true;
                member.Node.Keeper.AskForComparison();
            }
        }

        for (var i = 0; i < 8; i++)
        {
            foreach (var member in _members)
            {
                await member.Node.StepAsync();
                Deliver(member, int.MaxValue);
            }

            _clock.Advance(TimeSpan.FromSeconds(3));
        }

        foreach (var member in _members)
        {
            await member.Node.StepAsync();
        }
    }

    private void CheckOwners()
    {
        foreach (var name in _names)
        {
            var found = _members
                .SelectMany(member => member.Node.FindAll(name).Select(session => (member.Node, Session: session)))
                .ToList();
            var live = _all.Where(one => one.Session.Name == name && !one.IsOver && !one.Session.IsLeaving).ToList();
            var everyOne = _all.Where(one => one.Session.Name == name).ToList();
            for (var i = 0; i < found.Count; i++)
            {
                for (var j = 0; j < i; j++)
                {
                    Assert.True(
                        NameShare.AreBeside(ShareOf(found[i]), ShareOf(found[j])),
                        $"{name} has owners {found[i].Node.State.Facts.Node} and {found[j].Node.State.Facts.Node}");
                }
            }

            Assert.Equal(IdsOf(live.Select(static one => one.Session)), IdsOf(found.Select(static pair => pair.Session)));
            Assert.True(
                found.Count > 0 || everyOne.Count == 0 || everyOne.Exists(static one => one.IsOver), $"{name} was lost by all");
            Assert.Equal(
                found.Select(static pair => (pair.Node.State.Facts.Node, pair.Node.EpochOf(pair.Session), Digests.IsHealthy(pair.Session)))
                    .Order(),
                _tables.Serving(name).Select(static row => (row.Node, row.Epoch, row.Claim.Share?.IsHealthy ?? true)).Order());
        }

        static NameShare? ShareOf((TestNode Node, EntrySession Session) one) =>
            Digests.ShareOf(one.Session, one.Node.State.Facts.Node);

        static IEnumerable<string> IdsOf(IEnumerable<EntrySession> sessions) =>
            sessions.Select(static session => session.DisplayId).Order(StringComparer.Ordinal);
    }

    private void Start(Member member)
    {
        member.Store = new MemoryStore(_tables);
        member.Node = new TestNode(member.Name, member.Store, _clock, _random.Next());
        member.IsPaused = false;
        member.Listens = true;
        member.Notices.Clear();
    }

    private void Tell(string what) => _story.Add(what);

    private sealed class Member(string name)
    {
        public string Name { get; } = name;

        public TestNode Node { get; set; } = null!;

        public MemoryStore Store { get; set; } = null!;

        public bool IsPaused { get; set; }

        public bool Listens { get; set; }

        public Queue<NameNotice> Notices { get; } = new();
    }

    private sealed class Registered(TestNode node, EntrySession session)
    {
        public TestNode Node { get; } = node;

        public EntrySession Session { get; } = session;

        public bool IsOver { get; set; }

        public bool IsHandingOver { get; set; }

        public uint Reports { get; set; }
    }
}
