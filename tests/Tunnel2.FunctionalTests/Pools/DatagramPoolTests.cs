using System.Net;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Pools;

/// <summary>Agents that share a port of UDP: each association goes to one of them.</summary>
public sealed class DatagramPoolTests : IAsyncLifetime
{
    private const int MostAttempts = 100;

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    private readonly Socket[] _services = [Bound(), Bound()];
    private readonly List<Socket> _visitors = [];
    private PooledAgents _pool = null!;
    private IPEndPoint _public = null!;

    public async ValueTask InitializeAsync()
    {
        var (port, settings) = RawPoolTests.Settings("Udp");
        _public = new IPEndPoint(IPAddress.Loopback, port);
        _pool = await PooledAgents.StartAsync(0, [.. settings, "Pool:Pause=1m", "Udp:Idle=10m"]);
        foreach (var service in _services)
        {
            var link = CuttingProxy.Start(_pool.Entry.Uplink);
            _pool.Links.Add(link);
            var options = PooledAgents.Options(link.Port, ((IPEndPoint)service.LocalEndPoint!).Port);
            _pool.Agents.Add(await AgentFixture.StartReadyAsync(options with
            {
                Kind = SessionKind.Udp,
                RemotePort = port,
                Upstream = options.Upstream with { IsRaw = true, IsDatagram = true },

                // A silent association would hold up the end of the test.
                DrainLimit = TimeSpan.FromMilliseconds(100),
            }));
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _pool.DisposeAsync();
        foreach (var socket in (Socket[])[.. _services, .. _visitors])
        {
            socket.Dispose();
        }
    }

    [Fact]
    public async Task Associations_go_to_both_agents_and_stay_there()
    {
        var atFirst = 0;
        for (var i = 0; i < 6; i++)
        {
            var visitor = Visit();
            await visitor.SendToAsync("1"u8.ToArray(), _public);
            var service = await ArrivedAsync();
            atFirst += service == _services[0] ? 1 : 0;
            await visitor.SendToAsync("2"u8.ToArray(), _public);
            Assert.Same(service, await ArrivedAsync());
        }

        Assert.Equal(3, atFirst);
    }

    [Fact]
    public async Task An_association_of_an_agent_that_is_lost_begins_anew_at_another_one()
    {
        var visitor = Visit();
        await visitor.SendToAsync("1"u8.ToArray(), _public);
        var lost = Array.IndexOf(_services, await ArrivedAsync());
        _pool.Links[lost].RefuseConnections = true;
        _pool.Links[lost].CutAll(CutMode.Reset);
        await _pool.Entry.WaitForSessionsAsync(1);
        AssertArrives(visitor, _services[1 - lost]);
    }

    [Fact]
    public async Task An_agent_whose_service_is_gone_is_spared_after_the_first_datagram()
    {
        // It has the fewest associations, because its own end at once: it would get each new one.
        _services[0].Dispose();
        for (var i = 0; i < 6; i++)
        {
            AssertArrives(Visit(), _services[1]);
        }

        await _pool.Entry.UntilAsync(
            () => _pool.Entry.Directory.Snapshot().Sum(static session => session.Tunnel.OpenStreams) == 6,
            "each is at the other agent",
            _long);
    }

    private static Socket Bound()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return socket;
    }

    private Socket Visit()
    {
        var visitor = Bound();
        _visitors.Add(visitor);
        return visitor;
    }

    /// <summary>A datagram that meets the end of an association is lost, as datagrams may be: then it is sent again.</summary>
    private void AssertArrives(Socket visitor, Socket service)
    {
        for (var i = 0; i < MostAttempts; i++)
        {
            visitor.SendTo("1"u8.ToArray(), _public);
            if (service.Poll(TimeSpan.FromMilliseconds(200), SelectMode.SelectRead))
            {
                while (service.Available > 0)
                {
                    service.Receive(new byte[16]);
                }

                return;
            }
        }

        Assert.Fail("No datagram has come to the service that works.");
    }

    /// <summary>The service that has got a datagram, which is taken.</summary>
    private async Task<Socket> ArrivedAsync()
    {
        await WaitSignal.UntilAsync(() => Array.Exists(_services, static one => one.Available > 0), "a datagram has come", _long);
        var service = Array.Find(_services, static one => one.Available > 0)!;
        service.Receive(new byte[16]);
        return service;
    }
}
