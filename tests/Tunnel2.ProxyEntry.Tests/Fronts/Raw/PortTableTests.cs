using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Raw;

/// <summary>Who gets which port, with listeners in memory.</summary>
public sealed class PortTableTests : IDisposable
{
    private const int First = 20_000;

    private static readonly AgentIdentity _ann = AgentIdentity.OfToken("ann");
    private static readonly AgentIdentity _ben = AgentIdentity.OfToken("ben");

    private readonly ManualTimeProvider _time = new();
    private readonly ConnectionLimit _visitors = new("visitors", 100, 100);
    private readonly RecordedLog<PortTable> _log = new();
    private readonly ContainedFaults _faults;
    private readonly HashSet<int> _open = [];
    private readonly HashSet<int> _inUse = [];
    private readonly HashSet<int> _forbidden = [];
    private readonly PortTable _table;
    private int _listened;

    public PortTableTests()
    {
        // A timestamp of zero means that nothing has happened.
        _time.Advance(TimeSpan.FromSeconds(1));
        _faults = new ContainedFaults(_time);
        _table = Create(new PortRange(First, First + 2), "Tcp:PortsPerAgent=4");
    }

    public void Dispose()
    {
        _table.Dispose();
        Assert.Empty(_open);
        Assert.Equal((0, 0L), (_visitors.Count, _faults.Count));
    }

    [Fact]
    public void Each_agent_gets_a_port_of_its_own_until_there_is_none()
    {
        var ports = Enumerable.Range(0, 3).Select(i => Take($"n{i}", _ann).Port).ToArray();
        Assert.Equal([First, First + 1, First + 2], ports.Order());
        Assert.Equal((3, 3), _table.Counts);
        AssertRefused(_table.Take("n3", _ann, 0, takesAnother: true), "All ports that this server gives are taken: 20000-20002.", 10);
    }

    [Fact]
    public void A_wanted_port_is_given_if_it_is_in_the_range()
    {
        Assert.Equal(First + 1, Take("web", _ann, First + 1).Port);
        AssertRefused(_table.Take("out", _ann, 80, takesAnother: false), "The port 80 is not one that this server gives: 20000-20002.", 0);
        AssertRefused(_table.Take("out", _ann, 65_535, takesAnother: false), "is not one that this server gives", 0);
        Assert.Contains(Take("out", _ann, 80, takesAnother: true).Port, (int[])[First, First + 2]);
    }

    [Fact]
    public void A_port_belongs_to_its_agent_also_after_its_session_until_it_was_kept_for_long()
    {
        var lease = Take("web", _ann, First);
        AssertRefused(_table.Take("web", _ben, First, takesAnother: false), "The port 20000 belongs to another agent.", 0);
        AssertRefused(_table.Take("other", _ann, First, takesAnother: false), "leads to another tunnel of the same agent", 2);
        Leave(lease);
        Assert.Equal((0, 1), _table.Counts);
        AssertRefused(_table.Take("web", _ben, First, takesAnother: false), "The port 20000 is kept for the agent that had it.", 600);

        // The agent comes back without a wish, and under another name with one.
        lease = Take("web", _ann);
        Assert.Equal(First, lease.Port);
        Leave(lease);
        Leave(Take("other", _ann, First));
        Advance(TimeSpan.FromMinutes(10));
        Assert.Equal((0, 0), _table.Counts);
        Assert.Equal(First, Take("web", _ben, First).Port);
    }

    [Fact]
    public void The_listener_stays_open_while_visitors_wait_for_the_agent()
    {
        Leave(Take("web", _ann, First));
        Assert.Equal(First, Assert.Single(_open));
        Advance(TimeSpan.FromSeconds(4));
        Assert.Equal(First, Assert.Single(_open));
        Advance(TimeSpan.FromSeconds(2));
        Assert.Empty(_open);
        Assert.Equal((0, 1), _table.Counts);
        Take("web", _ann);
        Assert.Equal((First, 2), (Assert.Single(_open), _listened));
    }

    [Fact]
    public void An_agent_that_comes_back_before_its_lost_session_is_over_shares_the_port()
    {
        var lost = Take("web", _ann, First);
        var back = Take("web", _ann, First);
        Assert.Equal((First, 1), (back.Port, _listened));
        Leave(lost);
        Advance(TimeSpan.FromMinutes(20));
        Assert.Equal((First, (1, 1)), (Assert.Single(_open), _table.Counts));
        Leave(back);

        // The second disposal of a lease changes nothing.
        lost.Dispose();
        Assert.Equal((0, 1), _table.Counts);
    }

    [Fact]
    public void A_port_of_a_session_that_never_served_is_free_at_once()
    {
        Take("web", _ann, First).Dispose();
        Assert.Equal((0, 0), _table.Counts);
        Assert.Empty(_open);
    }

    [Fact]
    public void With_no_other_port_left_the_one_that_was_left_first_is_given_away_but_not_while_visitors_wait()
    {
        var leases = Enumerable.Range(0, 3).Select(i => Take($"n{i}", _ann)).ToArray();
        Leave(leases[1]);
        Advance(TimeSpan.FromSeconds(2));
        Leave(leases[0]);
        Advance(TimeSpan.FromSeconds(2));
        AssertRefused(_table.Take("new", _ben, 0, takesAnother: true), "All ports", 10);
        Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(leases[1].Port, Take("new", _ben).Port);
        AssertRefused(_table.Take("more", _ben, 0, takesAnother: true), "All ports", 10);
        Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(leases[0].Port, Take("more", _ben).Port);
    }

    [Theory]
    [InlineData(100, 25)]
    [InlineData(39, 10)]
    [InlineData(11, 10)]
    [InlineData(10, 10)]
    [InlineData(1, 1)]
    [InlineData(8, 3, "Tcp:PortsPerAgent=3", "Udp:PortsPerAgent=1")]
    public void An_agent_has_a_part_of_the_ports_or_as_many_as_the_setting_says_and_others_get_the_rest(
        int ports, int most, params string[] settings)
    {
        using var table = Create(new PortRange(First, First + ports - 1), settings);
        _visitors.Set(10_000, 10_000);
        for (var i = 0; i < most; i++)
        {
            Assert.NotNull(table.Take($"n{i}", _ann, 0, takesAnother: true).Lease);
        }

        AssertAtLimit(table.Take("more", _ann, 0, takesAnother: true), most);
        var free = Enumerable.Range(First, ports).FirstOrDefault(port => !_open.Contains(port));
        if (free != 0)
        {
            AssertAtLimit(table.Take("more", _ann, free, takesAnother: false), most);
            AssertAtLimit(table.Take("more", _ann, free, takesAnother: true), most);
            Assert.Equal(free, table.Take("n0", _ben, free, takesAnother: false).Lease!.Port);
        }
    }

    [Fact]
    public void Ports_that_are_kept_for_an_agent_count_and_the_one_that_it_left_first_makes_room_when_no_visitor_waits_there()
    {
        using var table = Create(new PortRange(First, First + 8), "Tcp:PortsPerAgent=2");
        var leases = Enumerable.Range(0, 2).Select(i => table.Take($"n{i}", _ann, 0, takesAnother: true).Lease!).ToArray();
        Leave(leases[1]);
        Advance(TimeSpan.FromSeconds(1));
        Leave(leases[0]);
        AssertAtLimit(table.Take("more", _ann, 0, takesAnother: true), 2);

        // What was its own it gets at any time.
        var again = table.Take("n0", _ann, 0, takesAnother: true).Lease!;
        Assert.Equal(leases[0].Port, again.Port);
        Advance(TimeSpan.FromSeconds(4));
        Assert.Equal(leases[1].Port, table.Take("more", _ann, 0, takesAnother: true).Lease!.Port);
        AssertAtLimit(table.Take("n1", _ann, 0, takesAnother: true), 2);

        // A port that it names comes in the place of the other one.
        Leave(again);
        Advance(TimeSpan.FromSeconds(6));
        var wanted = Enumerable.Range(First, 9).First(port => leases.All(lease => lease.Port != port));
        Assert.Equal(wanted, table.Take("n2", _ann, wanted, takesAnother: false).Lease!.Port);
        Assert.Equal((2, 2), table.Counts);
        Assert.Equal(again.Port, table.Take("ben", _ben, again.Port, takesAnother: false).Lease!.Port);
    }

    [Fact]
    public void A_port_that_cannot_be_opened_costs_an_agent_at_the_limit_none_of_its_own()
    {
        using var table = Create(new PortRange(First, First + 3), "Tcp:PortsPerAgent=1");
        Leave(table.Take("web", _ann, First, takesAnother: false).Lease!);
        Advance(TimeSpan.FromSeconds(6));
        _forbidden.Add(First + 1);
        AssertRefused(table.Take("new", _ann, First + 1, takesAnother: false), "cannot be opened", 10);
        AssertRefused(table.Take("ben", _ben, First, takesAnother: false), "is kept for the agent that had it.", 594);
    }

    [Fact]
    public void A_name_of_another_node_is_no_way_around_the_limit_and_its_port_is_mirrored_again()
    {
        using var table = Create(new PortRange(First, First + 3), "Tcp:PortsPerAgent=1");
        table.Mirror([new("far", SessionKind.Tcp, First), new("near", SessionKind.Tcp, First + 1)]);
        var lease = table.Take("near", _ann, 0, takesAnother: true).Lease!;
        AssertAtLimit(table.Take("far", _ann, 0, takesAnother: true), 1);
        Leave(lease);
        Advance(TimeSpan.FromSeconds(6));
        Assert.Equal(First, table.Take("far", _ann, First, takesAnother: false).Lease!.Port);
        Assert.Equal([First, First + 1], _open.Order());
    }

    [Fact]
    public void Ports_that_other_programs_use_are_passed_over()
    {
        _inUse.UnionWith([First, First + 1]);
        Assert.Equal(First + 2, Take("web", _ann).Port);
        AssertRefused(
            _table.Take("ssh", _ann, First, takesAnother: false), "The port 20000 is in use by another program on the server.", 10);
        Assert.Contains(_log.Lines, static line => line.Line.Contains("20000", StringComparison.Ordinal));
    }

    [Fact]
    public void Of_ports_that_other_programs_use_only_some_are_tried()
    {
        using var table = Create(new PortRange(First, First + 99));
        _inUse.UnionWith(Enumerable.Range(First, 100));
        AssertRefused(table.Take("web", _ann, 0, takesAnother: true), "is in use by another program", 10);
        Assert.Equal(16, _listened);
    }

    [Fact]
    public void A_port_that_the_system_refuses_is_an_answer_and_no_fault()
    {
        _forbidden.Add(First);
        AssertRefused(_table.Take("web", _ann, First, takesAnother: false), "cannot be opened on the server: AccessDenied", 10);
        Assert.Equal((0, 0), _table.Counts);
    }

    [Fact]
    public void A_listener_has_places_among_those_of_visitors_connections()
    {
        Assert.True(_visitors.TryEnter(null, out var place));
        var lease = Take("web", _ann);
        Assert.Equal(3, _visitors.Count);
        _visitors.Set(4, 4);
        AssertRefused(_table.Take("ssh", _ann, 0, takesAnother: true), "The server has no open files left for a further port.", 10);
        lease.Dispose();
        Assert.Equal(1, _visitors.Count);
        _visitors.Leave(place);
    }

    [Fact]
    public void Listeners_leave_three_quarters_of_the_places_to_visitors()
    {
        _visitors.Set(16, 16);
        var leases = new[] { Take("n0", _ann), Take("n1", _ann) };
        AssertRefused(_table.Take("n2", _ben, 0, takesAnother: true), "The server has no open files left for a further port.", 10);
        Assert.Equal(4, _visitors.Count);
        leases[0].Dispose();
        Take("n2", _ben).Dispose();
        leases[1].Dispose();
    }

    [Fact]
    public void A_server_that_stops_gives_no_ports_and_closes_all()
    {
        var lease = Take("web", _ann);
        _table.StopAccepting();
        Assert.Empty(_open);
        AssertRefused(_table.Take("ssh", _ann, 0, takesAnother: true), "The server is stopping.", 2);
        Leave(lease);
        Assert.Equal(0, _visitors.Count);
    }

    [Fact]
    public void An_agent_finds_its_port_again_after_a_restart_of_the_server()
    {
        _visitors.Set(400, 400);
        using var before = Create(new PortRange(First, First + 9_999));
        using var after = Create(new PortRange(First, First + 9_999));
        for (var i = 0; i < 20; i++)
        {
            Assert.Equal(
                before.Take($"n{i}", _ann, 0, takesAnother: true).Lease!.Port,
                after.Take($"n{i}", _ann, 0, takesAnother: true).Lease!.Port);
        }
    }

    [Fact]
    public void Ports_of_other_nodes_are_listened_to_where_they_are_given_here_and_free()
    {
        var own = Take("mine", _ann, First);
        _inUse.Add(First + 1);
        ForeignTunnel[] tunnels =
        [
            new("other", SessionKind.Tcp, First), new("used", SessionKind.Tcp, First + 1), new("far", SessionKind.Tcp, First + 2),
            new("out", SessionKind.Tcp, 80), new("datagrams", SessionKind.Udp, First + 2),
        ];
        for (var i = 0; i < 3; i++)
        {
            _table.Mirror(tunnels);
            Assert.Equal([First, First + 2], _open.Order());
        }

        // A port that another program uses is said once, and opened when it is free.
        Assert.Single(_log.Lines, static line => line.Line.Contains("20001", StringComparison.Ordinal));
        Assert.Equal((1, 1), _table.Counts);
        _inUse.Clear();
        _table.Mirror(tunnels);
        Assert.Equal(3, _open.Count);
        _table.Mirror([]);
        Assert.Equal([First], _open);
        Leave(own);
    }

    [Fact]
    public void A_session_of_this_node_takes_the_port_with_its_listener_and_gives_it_back()
    {
        _table.Mirror([new("far", SessionKind.Tcp, First), new("other", SessionKind.Tcp, First + 1)]);
        Assert.Equal(2, _listened);

        // Any port is one that no other node has, and no session gets one that another node has.
        var any = Take("mine", _ann);
        Assert.Equal(First + 2, any.Port);
        AssertRefused(_table.Take("new", _ann, First, takesAnother: false), "belongs to another agent, at another node.", 10);
        AssertRefused(_table.Take("new", _ann, 0, takesAnother: true), "All ports that this server gives are taken", 10);

        // One that is refused its name leaves the port as it was.
        Take("far", _ann).Dispose();
        Assert.Equal((3, 1), (_open.Count, _table.Counts.All));
        var lease = Take("far", _ben);
        Assert.Equal(First, lease.Port);
        Assert.Equal((3, 3), (_listened, _open.Count));
        AssertRefused(_table.Take("far", _ann, First, takesAnother: false), "The port 20000 belongs to another agent.", 0);

        // Its agent is at another node again: the port is open at all times.
        Leave(lease);
        Advance(TimeSpan.FromSeconds(4));
        _table.Mirror([new("far", SessionKind.Tcp, First)]);
        Advance(TimeSpan.FromSeconds(4));
        Assert.Contains(First, _open);
        Assert.Equal(4, _listened);
        _table.Mirror([]);
        Assert.Equal([First + 2], _open);
        Leave(any);
    }

    private PortTable Create(PortRange range, params string[] settings) => new(
        SessionKind.Tcp,
        range,
        IPAddress.Loopback,
        SettingsFixture.LoadValid(["Timeouts:Park=5s", "Tcp:KeepPort=10m", .. settings]),
        Listen,
        descriptors: 2,
        _visitors,
        _faults,
        _time,
        _log);

    private Listener Listen(PublicPort port, IPEndPoint endPoint)
    {
        _listened++;
        Assert.Equal((port.Port, IPAddress.Loopback), (endPoint.Port, endPoint.Address));
        if (_inUse.Contains(port.Port) || _forbidden.Contains(port.Port))
        {
            throw new SocketException((int)(_inUse.Contains(port.Port) ? SocketError.AddressAlreadyInUse : SocketError.AccessDenied));
        }

        _open.Add(port.Port);
        return new Listener(() => _open.Remove(port.Port));
    }

    private PortLease Take(string name, AgentIdentity owner, int wanted = 0, bool takesAnother = true)
    {
        var (lease, reject) = _table.Take(name, owner, wanted, takesAnother);
        Assert.Null(reject);
        return lease!;
    }

    /// <summary>A session that served is over.</summary>
    private static void Leave(PortLease lease)
    {
        lease.IsKept = true;
        lease.Dispose();
    }

    /// <summary>Moves the clock second by second, as the table looks.</summary>
    private void Advance(TimeSpan time)
    {
        for (var i = 0; i < time.TotalSeconds; i++)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
        }
    }

    private static void AssertRefused(TunnelPort port, string text, int seconds)
    {
        Assert.Null(port.Lease);
        Assert.Contains(text, port.Reject!.Text, StringComparison.Ordinal);
        Assert.Equal((RejectCode.PortNotAvailable, TimeSpan.FromSeconds(seconds)), (port.Reject.Code, port.Reject.RetryAfter));
    }

    private static void AssertAtLimit(TunnelPort port, int most)
    {
        Assert.Null(port.Lease);
        Assert.Equal(
            (RejectCode.PortLimitReached, TimeSpan.FromSeconds(10), $"The agent has {most} ports, and may have no more."),
            (port.Reject!.Code, port.Reject.RetryAfter, port.Reject.Text));
    }

    private sealed class Listener(Action close) : IDisposable
    {
        public void Dispose() => close();
    }
}
