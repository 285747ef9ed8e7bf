using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>Which parts of the live plane there are, by the settings, and that they end.</summary>
public sealed class LivePlaneTests : IDisposable
{
    private const int RelayFailedEvent = 4004;
    private const int FewerSubscribersEvent = 4006;

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-plane-").FullName;
    private readonly TestMeterFactory _meters = new();
    private readonly ListedSessions _sessions = new();
    private readonly RecordedLog<LivePlane> _log = new();

    private string RingFile => Path.Combine(_folder, "ring");

    public void Dispose()
    {
        _meters.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public async Task Switched_off_there_is_nothing_of_it()
    {
        await using var plane = Create("Live=false");
        plane.Start();
        plane.LimitSubscribers(1, 100);
        plane.CloseSubscribers();
        Assert.Null(plane.Ring);
        Assert.Null(plane.Hub);
        Assert.Null(plane.Guard);
        Assert.Null(plane.RelayEndPoint);
        Assert.Equal(RequestMoments.None, plane.Publisher.Moments);
        Assert.False(File.Exists(RingFile));
    }

    [Fact]
    public async Task Sessions_reach_the_hub_without_a_relay()
    {
        _sessions.All.Add(Sample.Session("web"));
        await using var plane = Create();
        plane.Start();
        await WaitSignal.UntilAsync(() => Shown.On(plane.Hub!, "session.web.status").Count == 1, "the feed has looked");
        Assert.Null(plane.RelayEndPoint);
        Assert.NotEqual(RequestMoments.None, plane.Publisher.Moments);
    }

    [Fact]
    public async Task A_relay_listens_until_the_plane_ends()
    {
        var plane = Create("Relay:Listen=127.0.0.1:0");
        Assert.Null(plane.RelayEndPoint);
        plane.Start();
        var address = plane.RelayEndPoint!;
        using (var client = new TcpClient())
        {
            await client.ConnectAsync(address);
        }

        await plane.DisposeAsync();
        using var late = new TcpClient();
        var refused = await Assert.ThrowsAsync<SocketException>(() => late.ConnectAsync(address));
        Assert.Equal(SocketError.ConnectionRefused, refused.SocketErrorCode);
    }

    [Fact]
    public async Task A_relay_without_its_port_is_left_out_and_the_rest_continues()
    {
        using var holder = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        holder.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        holder.Listen(1);
        _sessions.All.Add(Sample.Session("web"));
        await using var plane = Create($"Relay:Listen={holder.LocalEndPoint}");
        plane.Start();
        Assert.Null(plane.RelayEndPoint);
        Assert.Single(_log.Of(RelayFailedEvent));
        await WaitSignal.UntilAsync(() => Shown.On(plane.Hub!, "session.web.status").Count == 1, "the feed has looked");
    }

    [Fact]
    public async Task Fewer_subscribers_than_were_set_are_worth_a_line()
    {
        await using var plane = Create("Hub:MaxConnections=100");
        plane.LimitSubscribers(100, 1000);
        Assert.Equal(100, plane.Guard!.MaxConnections);
        Assert.Empty(_log.Of(FewerSubscribersEvent));
        plane.LimitSubscribers(99, 1000);
        Assert.Equal(99, plane.Guard.MaxConnections);
        Assert.Single(_log.Of(FewerSubscribersEvent));
    }

    private LivePlane Create(params string[] settings) => new(
        SettingsFixture.LoadValid([$"Ring:File={RingFile}", .. settings]), _sessions, TimeProvider.System, _meters, new ContainedFaults(),
        _log);
}
