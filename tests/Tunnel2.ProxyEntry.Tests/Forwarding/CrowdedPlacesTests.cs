using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Live;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

public sealed class CrowdedPlacesTests : IDisposable
{
    private const int Places = 16;

    private readonly ManualTimeProvider _time = new();
    private readonly ListedSessions _sessions = new();
    private readonly ForwardWatchdog _watchdog;
    private readonly ParkingLot _lot;
    private readonly CrowdedPlaces _places;
    private readonly List<string> _cut = [];
    private readonly List<SampleExchange> _exchanges = [];

    public CrowdedPlacesTests()
    {
        var settings = SettingsFixture.LoadValid();
        _watchdog = new ForwardWatchdog(settings, new RequestObservers([]), _time, new ContainedFaults(_time));
        _lot = new ParkingLot(settings, _time);
        _places = new CrowdedPlaces(_watchdog, _lot, _sessions);
        _sessions.All.AddRange([Sample.Session("one"), Sample.Session("two")]);
    }

    [Fact]
    public void The_tunnel_with_most_gives_up_its_newest()
    {
        Begin("large", 1, 2, 3, 4, 5, 6);
        Begin("small", 7, 8, 9);
        Assert.Equal(3, _places.EndNewest(Places, most: 3));
        Assert.Equal(["large 6", "large 5", "large 4"], _cut);
        Assert.Equal([false, false, false, true, true, true, false, false, false], _exchanges.Select(static one => one.HasGivenUp));
    }

    [Fact]
    public void An_eighth_of_the_places_is_left_to_it()
    {
        Begin("large", 1, 2, 3, 4, 5);
        Assert.Equal(3, _places.EndNewest(Places, most: 10));
        Assert.Equal(["large 5", "large 4", "large 3"], _cut);
        Assert.Equal(0, _places.EndNewest(5 * 8, most: 10));
    }

    [Fact]
    public void Of_an_owner_with_several_tunnels_the_largest_gives_way()
    {
        Begin("a", "a-files", 1, 2, 3);
        Begin("a", "a-page", 4, 5);
        Begin("b", "b", 6, 7, 8, 9);
        Assert.Equal(2, _places.EndNewest(Places, most: 4));
        Assert.Equal(["a-files 3", "a-files 2"], _cut);
    }

    [Fact]
    public void Where_there_is_one_tunnel_nothing_ends()
    {
        _sessions.All.RemoveAt(0);
        Begin("large", 1, 2, 3, 4, 5, 6);
        Enter("away", 5);
        Assert.Equal(0, _places.EndNewest(Places, most: 4));
        Assert.Equal(5, _lot.Count);
    }

    [Fact]
    public void Requests_of_one_connection_have_one_place_and_end_together()
    {
        var session = Sample.Session("many");
        foreach (var (number, connection) in (IEnumerable<(int, string)>)[(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "c"), (6, "c")])
        {
            Begin(session, number, new SampleExchange { Connection = connection, OnAbort = () => _cut.Add($"{connection} {number}") });
        }

        Begin("other", 7, 8);
        Assert.Equal(1, _places.EndNewest(Places, most: 4));
        Assert.Equal(["c 5", "c 6"], _cut);
    }

    [Fact]
    public void Visitors_of_other_nodes_and_datagrams_have_no_place_here()
    {
        for (var i = 0; i < 10; i++)
        {
            Begin(Sample.Session("large"), i, new SampleExchange { HasPlace = false });
        }

        Assert.Equal(0, _places.EndNewest(Places, most: 4));
    }

    [Fact]
    public async Task Where_most_wait_for_an_agent_the_last_of_them_give_way()
    {
        Begin("busy", 1, 2);
        var waits = Enter("away", 6);
        Enter("gone", 3);
        Assert.Equal(4, _places.EndNewest(Places, most: 10));
        Assert.All(await Task.WhenAll(waits[2..]), static outcome => Assert.Equal(ParkOutcome.GaveWay, outcome));
        Assert.Equal(5, _lot.Count);
        Assert.Equal(1, _places.EndNewest(Places, most: 10));
        Assert.Equal(0, _places.EndNewest(Places, most: 10));
        Assert.Equal((4, 4), (_lot.Count, (int)_lot.Bytes));
    }

    public void Dispose()
    {
        _watchdog.Dispose();
        _lot.Dispose();
    }

    private Task<ParkOutcome>[] Enter(string name, int count) =>
    [
        .. Enumerable.Range(0, count).Select(_ => _lot.TryEnter(name, null, default, long.MaxValue, 1)!.WaitAsync(default).AsTask()),
    ];

    private void Begin(string name, params int[] numbers) => Begin(name, name, numbers);

    private void Begin(string owner, string name, params int[] numbers)
    {
        var session = Sample.Session(name, agentId: owner);
        foreach (var number in numbers)
        {
            Begin(session, number, new SampleExchange { OnAbort = () => _cut.Add($"{name} {number}") });
        }
    }

    private void Begin(EntrySession session, int number, SampleExchange exchange)
    {
        _time.Advance(TimeSpan.FromMilliseconds(1));
        var request = new ForwardedRequest();
        request.Begin(_time);
        (request.Exchange, request.Session, request.BytesReceived) = (exchange, session, number);
        request.BeginVisitorWait(exchange);
        _exchanges.Add(exchange);
        _watchdog.Add(request);
    }
}
