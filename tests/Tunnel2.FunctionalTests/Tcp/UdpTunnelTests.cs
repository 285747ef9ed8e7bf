using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

[Trait("Engine", "each")]
public sealed class UdpTunnelTests
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);

    [Fact]
    public Task Datagrams_keep_their_boundaries_and_find_their_visitor() => RunAsync(async (service, tunnel, _) =>
    {
        using var one = Visit(tunnel);
        using var other = Visit(tunnel);
        foreach (var length in new[] { 0, 1, 1_400, 9_000, 65_507 })
        {
            await one.SendAsync(PatternBytes.Window(0, length));
            var (datagram, from) = await ReceiveAsync(service);
            Assert.Equal(length, datagram.Length);
            PatternBytes.Verify(datagram, 0);
            await other.SendAsync("?"u8.ToArray());
            var (question, fromOther) = await ReceiveAsync(service);
            Assert.Equal("?"u8.ToArray(), question);
            Assert.NotEqual(from, fromOther);
            await service.SendToAsync("!"u8.ToArray(), fromOther);
            await service.SendToAsync(datagram, from);
            Assert.Equal(length, (await ReceiveAsync(one)).Datagram.Length);
            Assert.Equal("!"u8.ToArray(), (await ReceiveAsync(other)).Datagram);
        }
    });

    [Fact]
    public Task A_visitor_that_was_silent_for_long_begins_anew() => RunAsync(async (service, tunnel, time) =>
    {
        using var visitor = Visit(tunnel);
        await visitor.SendAsync("1"u8.ToArray());
        var (_, first) = await ReceiveAsync(service);
        await UntilOverAsync(tunnel, time);

        // A datagram that meets the end of the association is lost, as datagrams may be: then it is sent again.
        do
        {
            await visitor.SendAsync("2"u8.ToArray());
        }
        while (!service.Poll(TimeSpan.FromMilliseconds(500), SelectMode.SelectRead));
        var (datagram, second) = await ReceiveAsync(service);
        Assert.Equal("2"u8.ToArray(), datagram);
        Assert.NotEqual(first, second);
    });

    [Fact]
    public Task Visitors_that_ask_each_question_from_another_port_take_the_places_of_silent_ones() => RunAsync(
        async (service, tunnel, time) =>
        {
            var visitors = new List<Socket>();
            try
            {
                // An address has 256 places, and none becomes free by time in this test: those that were silent for a moment make room.
                for (var i = 0; i < 600; i++)
                {
                    var visitor = Visit(tunnel);
                    visitors.Add(visitor);
                    await visitor.SendAsync(BitConverter.GetBytes(i));
                    while (!service.Poll(TimeSpan.FromMilliseconds(200), SelectMode.SelectRead))
                    {
                        time.Advance(TimeSpan.FromMilliseconds(250));
                        await visitor.SendAsync(BitConverter.GetBytes(i));
                    }

                    // A question that was asked twice may come twice.
                    EndPoint from;
                    byte[] question;
                    do
                    {
                        (question, from) = await ReceiveAsync(service);
                    }
                    while (BitConverter.ToInt32(question) != i);
                    await service.SendToAsync(question, from);
                    Assert.Equal(question, (await ReceiveAsync(visitor)).Datagram);
                }

                await WaitSignal.UntilAsync(
                    () => tunnel.Entry.Session.Tunnel.OpenStreams <= 256, "those that made room are over", _patience);

                // A datagram to a service that is gone ends the others.
                service.Dispose();
                foreach (var visitor in visitors)
                {
                    await visitor.SendAsync("!"u8.ToArray());
                }
            }
            finally
            {
                visitors.ForEach(static visitor => visitor.Dispose());
            }
        },
        "1h");

    [Fact]
    public Task Visitors_of_four_addresses_that_are_never_silent_leave_places_to_another() => RunAsync(
        async (service, tunnel, _) =>
        {
            var visitors = new List<Socket>();
            try
            {
                // The clock stands still, so none of them is silent. The fourth address gets half of what the other three leave.
                int[] places = [256, 256, 256, 128];
                for (var address = 0; address < places.Length; address++)
                {
                    for (var i = 0; i < places[address]; i++)
                    {
                        await AskAsync(address);
                        await ReceiveAsync(service);
                    }
                }

                for (var i = 0; i < 128; i++)
                {
                    await AskAsync(places.Length - 1);
                }

                using var visitor = Visit(tunnel);
                await visitor.SendAsync("me"u8.ToArray());
                var (question, from) = await ReceiveAsync(service);
                Assert.Equal("me"u8.ToArray(), question);
                await service.SendToAsync("!"u8.ToArray(), from);
                Assert.Equal("!"u8.ToArray(), (await ReceiveAsync(visitor)).Datagram);
            }
            finally
            {
                visitors.ForEach(static visitor => visitor.Dispose());
            }

            async Task AskAsync(int address)
            {
                var visitor = Visit(tunnel, new IPAddress([127, 0, 0, (byte)(2 + address)]));
                visitors.Add(visitor);
                await visitor.SendAsync("?"u8.ToArray());
            }
        },
        "5s");

    [Fact]
    public Task Of_a_flood_what_cannot_be_taken_is_dropped_and_others_are_served() => RunAsync(async (service, tunnel, _) =>
    {
        using var flood = Visit(tunnel);
        var piece = new byte[60_000];
        for (var i = 0; i < 2_000; i++)
        {
            await flood.SendAsync(piece);
        }

        // The service's own queue may be full too, so the question is asked again for each datagram that leaves it.
        using var visitor = Visit(tunnel);
        while (true)
        {
            await visitor.SendAsync("?"u8.ToArray());
            var (datagram, from) = await ReceiveAsync(service);
            if (datagram.Length == 1)
            {
                await service.SendToAsync("!"u8.ToArray(), from);
                break;
            }
        }

        Assert.Equal("!"u8.ToArray(), (await ReceiveAsync(visitor)).Datagram);
    });

    [Fact]
    public Task A_service_that_floods_a_visitor_holds_no_other_visitor_up() => RunAsync(async (service, tunnel, _) =>
    {
        using var flooded = Visit(tunnel);
        await flooded.SendAsync("!"u8.ToArray());
        var (_, to) = await ReceiveAsync(service);
        var piece = new byte[60_000];
        for (var i = 0; i < 2_000; i++)
        {
            // The visitor reads none of them.
            await service.SendToAsync(piece, to);
        }

        using var visitor = Visit(tunnel);
        await visitor.SendAsync("?"u8.ToArray());
        var (question, from) = await ReceiveAsync(service);
        Assert.Equal("?"u8.ToArray(), question);
        await service.SendToAsync("answer"u8.ToArray(), from);
        Assert.Equal("answer"u8.ToArray(), (await ReceiveAsync(visitor)).Datagram);
    });

    [Fact]
    public Task Where_the_server_has_several_addresses_an_answer_comes_from_the_one_that_its_visitor_called() => RunAsync(
        async (service, tunnel, _) =>
        {
            Assert.SkipUnless(OperatingSystem.IsLinux(), "The system chooses.");
            using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            visitor.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            var port = new Uri(Assert.Single(tunnel.Agent.Events.PublicUrls)).Port;
            var seen = new HashSet<EndPoint>();
            foreach (var called in new[] { "127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.1" })
            {
                var place = new IPEndPoint(IPAddress.Parse(called), port);
                await visitor.SendToAsync("?"u8.ToArray(), place);
                var (question, from) = await ReceiveAsync(service);
                seen.Add(from);
                await service.SendToAsync(question, from);
                Assert.Equal(place, (await ReceiveAsync(visitor)).From);
            }

            // Each of the addresses has an association of its own.
            Assert.Equal(3, seen.Count);
        },
        listen: "*");

    [Theory]
    [InlineData("::1")]
    [InlineData("127.0.0.1")]
    public Task A_service_that_is_named_by_its_port_is_found_at_both_addresses_of_the_machine(string at) => RunAsync(
        async (service, tunnel, _) =>
        {
            for (var i = 0; i < 3; i++)
            {
                // The first datagram of each association arrives, whatever was tried before.
                using var visitor = Visit(tunnel);
                await visitor.SendAsync("?"u8.ToArray());
                var (question, from) = await ReceiveAsync(service);
                Assert.Equal("?"u8.ToArray(), question);
                await service.SendToAsync("!"u8.ToArray(), from);
                Assert.Equal("!"u8.ToArray(), (await ReceiveAsync(visitor)).Datagram);
            }
        },
        at: at,
        target: static target => target with { TriesIPv6Loopback = true });

    [Fact]
    public Task Where_nothing_listens_at_any_address_the_association_ends_and_the_next_finds_the_service() => RunAsync(
        async (service, tunnel, _) =>
        {
            Assert.SkipUnless(LoopbackV6.IsThere, "No ::1 here.");
            var place = (IPEndPoint)service.LocalEndPoint!;
            service.Dispose();
            using var visitor = Visit(tunnel);
            await visitor.SendAsync("?"u8.ToArray());
            using var later = new Socket(AddressFamily.InterNetworkV6, SocketType.Dgram, ProtocolType.Udp);
            later.Bind(new IPEndPoint(IPAddress.IPv6Loopback, place.Port));

            // A datagram that meets the end of the association is lost, as datagrams may be: then it is sent again.
            do
            {
                await visitor.SendAsync("again"u8.ToArray());
            }
            while (!later.Poll(TimeSpan.FromMilliseconds(500), SelectMode.SelectRead));
            Assert.NotEmpty((await ReceiveAsync(later)).Datagram);
        },
        target: static target => target with { TriesIPv6Loopback = true });

    /// <summary>Runs a test on a clock that stands still, so that no visitor is silent for long unless the test says so.</summary>
    private static async Task RunAsync(
        Func<Socket, TunnelFixture, ManualTimeProvider, Task> test, string idle = "1s", string at = "127.0.0.1",
        Func<BackendTarget, BackendTarget>? target = null, string listen = "127.0.0.1")
    {
        var place = new IPEndPoint(IPAddress.Parse(at), 0);
        Assert.SkipUnless(place.AddressFamily != AddressFamily.InterNetworkV6 || LoopbackV6.IsThere, "No ::1 here.");
        using var service = new Socket(place.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
        service.Bind(place);
        var time = new ManualTimeProvider();
        await TunnelFixture.RunAsync(
            ((IPEndPoint)service.LocalEndPoint!).Port,
            async tunnel =>
            {
                await test(service, tunnel, time);
                await UntilOverAsync(tunnel, time);
            },
            new TunnelSetup
            {
                Settings = [TcpTunnel.Ports().Replace("Tcp", "Udp", StringComparison.Ordinal), $"Udp:Idle={idle}", $"Udp:Listen={listen}"],
                EntryTime = time,
                Agent = options => options with
                {
                    Kind = SessionKind.Udp,
                    Upstream = (target?.Invoke(options.Upstream) ?? options.Upstream) with { IsRaw = true, IsDatagram = true },
                },
            });
    }

    private static Task UntilOverAsync(TunnelFixture tunnel, ManualTimeProvider time) => TcpTunnel.AdvanceUntilAsync(
        time, () => tunnel.Entry.Session.Tunnel.OpenStreams == 0, "no association is open");

    private static Socket Visit(TunnelFixture tunnel, IPAddress? from = null)
    {
        var url = new Uri(Assert.Single(tunnel.Agent.Events.PublicUrls));
        Assert.Equal(("udp", "localhost"), (url.Scheme, url.Host));
        var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        visitor.Bind(new IPEndPoint(from ?? IPAddress.Loopback, 0));
        visitor.Connect(new IPEndPoint(IPAddress.Loopback, url.Port));
        return visitor;
    }

    private static async Task<(byte[] Datagram, EndPoint From)> ReceiveAsync(Socket socket)
    {
        using var patience = new CancellationTokenSource(_patience);
        var buffer = new byte[65_536];
        var any = socket.AddressFamily == AddressFamily.InterNetworkV6 ? IPAddress.IPv6Any : IPAddress.Any;
        var received = await socket.ReceiveFromAsync(buffer, SocketFlags.None, new IPEndPoint(any, 0), patience.Token);
        return (buffer[..received.ReceivedBytes], received.RemoteEndPoint);
    }
}
