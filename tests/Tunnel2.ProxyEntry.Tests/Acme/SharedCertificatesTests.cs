using System.Text;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Acme;

/// <summary>What two nodes count together, and what one of them leaves to the other.</summary>
public sealed class SharedCertificatesTests : IAsyncDisposable
{
    private const int Obtained = 2271;
    private const int NotObtained = 2272;

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-acme-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly FakeAuthority _authority;
    private readonly SharedMemory _shared = new();
    private readonly List<Node> _nodes = [];

    public SharedCertificatesTests()
    {
        _authority = new FakeAuthority(_time);
        File.WriteAllText(Path.Combine(_folder, "secret"), "a secret of thirty-two or more characters");
    }

    [Fact]
    public async Task The_share_of_an_agent_is_that_of_all_nodes_wherever_its_sessions_are()
    {
        // Four places for new names, and so two for the first agent.
        var (first, second) = (await StartAsync("Acme:PerHour=5"), await StartAsync("Acme:PerHour=5"));
        await first.ObtainAsync("one");
        await second.ObtainAsync("two");
        foreach (var node in new[] { first, second })
        {
            // The session is at the other node, too.
            await node.RefusedAsync("three", "a");
        }

        second.Others.Agents["four"] = "a";
        Assert.Null(second.Certificates.Find("four.localhost"));
        await second.UntilAsync(NotObtained, 2);
        Assert.Equal(2, _authority.Orders);
        await first.ObtainAsync("other", "b");

        // It holds over a restart, also where the database is away, and is over after the hour.
        await first.StopAsync();
        _shared.IsAway = true;
        var again = await StartInAsync(first.State, "Acme:PerHour=5");
        Assert.Contains("the share of one agent", Assert.Single(again.Certificates.Refusals).Reason, StringComparison.Ordinal);
        _shared.IsAway = false;
        await _shared.LookAsync();
        await again.RefusedAsync("five", "a");
        _time.Advance(TimeSpan.FromMinutes(62));
        await again.ObtainAsync("six");
        Assert.Equal(4, _authority.Orders);
    }

    [Fact]
    public async Task An_order_that_a_node_has_left_is_completed_by_another_one_and_counts_once()
    {
        _authority.NeverEnds = true;
        var first = await StartAsync("Acme:PerHour=1", "Acme:Names=www.example.test");
        await first.UntilAsync(() => _authority.Asked.Contains("POST /challenge/1"));
        Assert.Single(_shared.LeasesOf("-orders"));
        await first.StopAsync();
        _authority.NeverEnds = false;
        var second = await StartAsync("Acme:PerHour=1", "Acme:Names=www.example.test");
        await second.UntilAsync(Obtained, 1);
        Assert.Equal(1, _authority.Orders);
        Assert.Empty(_shared.LeasesOf("-orders"));
    }

    [Theory]
    [InlineData("https://ca.test/order/gone")]
    [InlineData("https://other.test/order/1")]
    [InlineData("nonsense")]
    public async Task An_order_that_cannot_be_completed_is_made_anew(string noted)
    {
        var node = await StartAsync();
        await _shared.PlaceAsync(
            node.Kind + "-orders", "web.localhost", Encoding.ASCII.GetBytes(noted), TimeSpan.FromMinutes(1), CancellationToken.None);
        await node.ObtainAsync("web");
        Assert.Equal(1, _authority.Orders);
    }

    [Fact]
    public async Task A_pause_of_the_authority_holds_at_all_nodes()
    {
        var (first, second) = (await StartAsync(), await StartAsync());
        _authority.Instead = static (request, _) => request.RequestUri!.AbsolutePath == "/order"
            ? Task.FromResult(FakeAuthority.Answer(503, "text/plain", ""))
            : null;
        await first.RegisterAsync("web");
        Assert.Null(first.Certificates.Find("web.localhost"));
        await first.UntilAsync(NotObtained, 1);
        await _shared.LookAsync();
        Assert.Single(second.Certificates.Refusals);
        _authority.Instead = static (_, _) => null;
        await second.RegisterAsync("next");
        Assert.Null(second.Certificates.Find("next.localhost"));
        await second.IdleAsync();
        Assert.Equal(1, _authority.Orders);
        _time.Advance(TimeSpan.FromMinutes(6));
        await second.ObtainAsync("next");
        await first.ObtainAsync("web");
        await _shared.LookAsync();
        Assert.Empty(second.Certificates.Refusals);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var node in _nodes)
        {
            await node.StopAsync();
        }

        _authority.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private Task<Node> StartAsync(params string[] settings) =>
        StartInAsync(Path.Combine(_folder, FormattableString.Invariant($"state{_nodes.Count}")), settings);

    private async Task<Node> StartInAsync(string state, params string[] settings)
    {
        var node = new Node(
            state, _time, _shared, _authority,
            [
                "Acme:Directory=" + FakeAuthority.Directory, "Acme:AcceptTerms=true", "Public:HttpsListen=127.0.0.1:0",
                "StateFolder=" + state, "Cluster:Database=Host=nowhere", "Cluster:Secret=" + Path.Combine(_folder, "secret"), .. settings,
            ]);
        _nodes.Add(node);
        var certificates = node.Certificates;
        if (!_shared.IsAway)
        {
            await _shared.LookAsync();
        }

        certificates.Start();
        return node;
    }

    private sealed class Node(string state, ManualTimeProvider time, SharedMemory shared, FakeAuthority authority, string[] settings)
    {
        private readonly RecordedLog<AutomaticCertificates> _log = new();
        private readonly InMemorySessionDirectory _directory = new(time, TimeSpan.Zero);
        private readonly HashSet<string> _registered = [];
        private AutomaticCertificates? _certificates;
        private bool _hasStopped;

        public string State => state;

        public OtherNodes Others { get; } = new();

        public AutomaticCertificates Certificates => _certificates ??= new AutomaticCertificates(
            SettingsFixture.LoadValid(settings), _directory, new PendingChallenges(), time, _log, authority, shared, shared, Others);

        public string Kind => "acme-" + Path.GetFileName(Assert.Single(Directory.GetDirectories(Path.Combine(state, "acme"))))[^12..];

        public async Task RegisterAsync(string name, string agent = "a")
        {
            if (_registered.Add(name))
            {
                var result = await _directory.RegisterAsync(Sample.Session(name, agent), CancellationToken.None);
                Assert.Equal(RegistrationStatus.Registered, result.Status);
            }
        }

        /// <summary>A visitor asks for a name of a tunnel here, which gets a certificate.</summary>
        public async Task ObtainAsync(string name, string agent = "a")
        {
            await RegisterAsync(name, agent);
            var before = _log.Of(Obtained).Count;
            Assert.Null(Certificates.Find(name + ".localhost"));
            await UntilAsync(Obtained, before + 1);
        }

        /// <summary>The same, and the name has to wait because of its agent.</summary>
        public async Task RefusedAsync(string name, string agent)
        {
            await RegisterAsync(name, agent);
            var before = _log.Of(NotObtained).Count;
            Assert.Null(Certificates.Find(name + ".localhost"));
            await UntilAsync(NotObtained, before + 1);
            Assert.Contains("the share of one agent", _log.Of(NotObtained)[^1], StringComparison.Ordinal);
        }

        /// <summary>There are so many lines of an event, and no lease is held any more.</summary>
        public async Task UntilAsync(int id, int lines)
        {
            await UntilAsync(() => _log.Of(id).Count >= lines);
            await IdleAsync();
        }

        public Task IdleAsync() => UntilAsync(() => Certificates is { Looks: > 0, Waiting: 0 });

        /// <summary>While an answer is shown, time passes: the node waits until no other one remembers that there was none.</summary>
        public Task UntilAsync(Func<bool> condition) => WaitSignal.UntilAsync(
            () =>
            {
                if (shared.LeasesOf("-answers").Count > 0)
                {
                    time.Advance(TimeSpan.FromMilliseconds(100));
                }

                return condition();
            },
            "the node has done what the test waits for");

        public async Task StopAsync()
        {
            if (!_hasStopped)
            {
                _hasStopped = true;
                await Certificates.DisposeAsync();
            }
        }
    }

    private sealed class OtherNodes : ISessionLocator
    {
        /// <summary>The agents of names at other nodes.</summary>
        public Dictionary<string, string> Agents { get; } = [];

        public bool TryLocate(ReadOnlySpan<char> name, out NodePlaces places)
        {
            places = new NodePlaces(new NodeLocation("other", "127.0.0.1:1", 1));
            return Agents.ContainsKey(name.ToString());
        }

        public bool IsUnknown(ReadOnlySpan<char> name) => false;

        public ValueTask<LocatedName> LocateAsync(string name, CancellationToken cancellationToken) => default;

        public ValueTask<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken) =>
            new(Agents.TryGetValue(name, out var agent) ? AgentIdentity.OfToken(agent).ToDigest() : null);

        public void Forget(string name, long epoch)
        {
        }
    }
}
