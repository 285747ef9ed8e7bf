using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Session;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Session;

/// <summary>What an agent does with nodes that a server announces.</summary>
public sealed class KnownNodesTests
{
    private static readonly AgentOptions _encrypted = new()
    {
        Server = new ServerEndpoint("e1.example.com", 12001),
        Upstream = new BackendTarget(false, "127.0.0.1", 3000),
        Tls = new TlsOptions { ServerCaFile = "ca.pem" },
        Token = "secret",
    };

    private readonly ManualTimeProvider _clock = new();

    [Theory]
    [InlineData("e2.example.com", true)]
    [InlineData("192.0.2.7", true)]
    [InlineData("2001:db8::7", true)]
    [InlineData("localhost", false)]
    [InlineData("localhost.", false)]
    [InlineData("127.0.0.1", false)]
    [InlineData("127.1", false)]
    [InlineData("0", false)]
    [InlineData("::1", false)]
    [InlineData("::", false)]
    [InlineData("::ffff:127.0.0.1", false)]
    [InlineData("169.254.169.254", false)]
    [InlineData("224.0.0.1", false)]
    [InlineData("a b", false)]
    [InlineData("user@host", false)]
    [InlineData("host/path", false)]
    [InlineData("", false)]
    public void A_host_that_is_announced_is_no_service_of_this_machine(string host, bool isUsed) =>
        Assert.Equal(isUsed, KnownNodes.MayUse(new AnnouncedNode("e2", host, 12001, "b"), _encrypted));

    [Theory]
    [InlineData("e1.example.com", true)]
    [InlineData("E1.example.com", true)]
    [InlineData("e2.example.com", false)]
    [InlineData("192.0.2.7", false)]
    public void Without_tls_no_other_host_is_used(string host, bool isUsed) => Assert.Equal(
        isUsed, KnownNodes.MayUse(new AnnouncedNode("e2", host, 1, "b"), _encrypted with { Tls = null, AllowPlaintextToken = true }));

    [Fact]
    public void A_session_is_opened_as_with_the_server_that_announced_it()
    {
        var known = Knows(("e2", "b"));
        var node = known.Choose([], [], [])!;
        Assert.Equal(new ServerEndpoint("e2.example.com", 12001), node.Options.Server);
        Assert.Equal((_encrypted.Tls, "secret", false), (node.Options.Tls, node.Options.Token, node.Options.AllowPlaintextToken));
    }

    [Fact]
    public void What_a_server_announces_no_more_is_forgotten_and_what_is_new_waits_a_moment()
    {
        var known = Knows(("e2", "b"), ("e3", "c"));
        known.Learn(new NodeAnnouncement("e1", "a", [Node("e3", "c"), Node("e4", "d")]), _encrypted, isNews: true);
        Assert.Equal("e3", known.Choose([], [], [])!.Node.Node);
        Assert.Null(known.Choose(["e3"], [], []));
        Assert.InRange(known.NextIn()!.Value, TimeSpan.Zero, KnownNodes.LongestNewsWait);
        _clock.Advance(KnownNodes.LongestNewsWait);
        Assert.Equal("e4", known.Choose(["e3"], [], [])!.Node.Node);

        // What another server has announced is none of its business.
        known.Learn(
            new NodeAnnouncement("e9", "a", []), _encrypted with { Server = new ServerEndpoint("e9.example.com", 12001) }, isNews: true);
        Assert.Equal(2, known.Count);
    }

    [Fact]
    public void Another_zone_comes_first_and_one_that_has_failed_last()
    {
        var known = Knows(("e2", "a"), ("e3", "b"), ("e4", "b"), ("e5", "a"));
        Assert.All(Draw(known, "a"), static node => Assert.Contains(node, (string[])["e3", "e4"]));
        Assert.Equal(2, Draw(known, "a").Distinct().Count());
        known.Failed(known.Choose(["e1", "e2", "e4", "e5"], [], [])!, isForGood: false);
        Assert.All(Draw(known, "a"), static node => Assert.Equal("e4", node));
        _clock.Advance(KnownNodes.Grudge);
        Assert.Equal(2, Draw(known, "a").Distinct().Count());
        Assert.Null(known.Choose(["e2", "e3", "e4", "e5"], [], []));
    }

    [Fact]
    public void One_that_refused_for_good_is_left_alone()
    {
        var known = Knows(("e2", "b"));
        known.Failed(known.Choose([], [], [])!, isForGood: true);
        Assert.Null(known.Choose([], [], []));
        _clock.Advance(KnownNodes.Rest);
        Assert.NotNull(known.Choose([], [], []));
    }

    [Fact]
    public void A_zone_that_does_not_answer_keeps_no_visitor_from_another_one()
    {
        var known = Knows(("e2", "a"), ("e3", "b"), ("e4", "b"), ("e5", "b"), ("e6", "b"));
        var tried = new List<string>();
        for (var i = 0; i < 10; i++)
        {
            var node = known.Choose(["e1"], [], ["a"])!;
            tried.Add(node.Node.Node);
            known.Failed(node, isForGood: false);
            _clock.Advance(TimeSpan.FromSeconds(40));
        }

        Assert.Equal(tried.Take(5), tried.Skip(5));
        Assert.Equal("e2", tried[4]);
    }

    [Fact]
    public void Another_id_makes_no_other_address_and_neither_does_another_spelling()
    {
        var known = new KnownNodes(_clock, new Random(1));
        known.Learn(new NodeAnnouncement("e1", "a", [Node("e2", "b")]), _encrypted);
        known.Failed(known.Choose([], [], [])!, isForGood: true);
        known.Learn(new NodeAnnouncement("e1", "a", [new("other", "E2.example.com", 12001, "b"), Node("e2", "c")]), _encrypted);
        Assert.Null(known.Choose([], [], []));
        known.Learn(new NodeAnnouncement("e9", "a", [new("me", "E1.EXAMPLE.com", 12001, "b")]), _encrypted);
        Assert.Null(known.Choose([], [_encrypted.Server], []));
    }

    [Fact]
    public void However_many_have_failed_few_are_kept()
    {
        var known = new KnownNodes(_clock, new Random(1));
        for (var i = 0; i < 1_000; i++)
        {
            known.Learn(new NodeAnnouncement("e1", "", [Node($"n{i}", "")]), _encrypted);
            known.Failed(known.Choose([], [], [])!, isForGood: false);
        }

        Assert.Equal(KnownNodes.MostFailed, known.FailedCount);
    }

    [Fact]
    public void A_node_that_is_not_used_has_a_reason()
    {
        var known = new KnownNodes(_clock, new Random(1));
        var announcement = new NodeAnnouncement("e1", "a", [new("e2", "127.0.0.1", 22, "b"), Node("e3", "b")]);
        var (server, why) = known.Learn(announcement, _encrypted)!.Value;
        Assert.Equal((new ServerEndpoint("127.0.0.1", 22), 1), (server, known.Count));
        Assert.Contains("address of this machine", why, StringComparison.Ordinal);
        Assert.True(known.Choose([], [], [])!.Options.AvoidsThisMachine);
    }

    [Fact]
    public void However_many_are_announced_few_are_kept()
    {
        var known = new KnownNodes(_clock, new Random(1));
        for (var i = 0; i < 100; i++)
        {
            known.Learn(
                new NodeAnnouncement("e1", "", [.. Enumerable.Range(0, 20).Select(one => Node($"n{i}-{one}", ""))]), _encrypted);
            Assert.Equal(KnownNodes.Most, known.Count);
        }
    }

    private static AnnouncedNode Node(string id, string zone) => new(id, id + ".example.com", 12001, zone);

    private static IEnumerable<string> Draw(KnownNodes known, params string[] zones) =>
        [.. Enumerable.Range(0, 50).Select(_ => known.Choose([], [], zones)!.Node.Node)];

    private KnownNodes Knows(params (string Id, string Zone)[] nodes)
    {
        var known = new KnownNodes(_clock, new Random(1));
        known.Learn(new NodeAnnouncement("e1", "a", [.. nodes.Select(static one => Node(one.Id, one.Zone))]), _encrypted);
        return known;
    }
}
