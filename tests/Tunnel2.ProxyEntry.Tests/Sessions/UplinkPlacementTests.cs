using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

/// <summary>Which event loop a session's next uplink gets.</summary>
public sealed class UplinkPlacementTests : IDisposable
{
    private readonly List<IDisposable> _things = [];

    [Fact]
    public void Where_there_is_one_loop_nothing_is_moved()
    {
        var loops = Start(1);
        var moved = new Arrived(loops[0]);
        Assert.Null(UplinkPlacement.TryMove(loops, [Uplink(loops[0])], moved));
        Assert.Equal(0, moved.Moves);
    }

    [Fact]
    public void A_connection_that_no_loop_serves_stays()
    {
        var loops = Start(2);
        var moved = new Arrived(null);
        Assert.Null(UplinkPlacement.TryMove(loops, [Uplink(loops[0])], moved));
        Assert.Equal(0, moved.Moves);
    }

    [Fact]
    public void It_goes_where_its_session_has_the_fewest_uplinks_however_busy_that_loop_is()
    {
        var loops = Start(3);
        Load(loops[1], 5);
        Load(loops[2], 9);
        List<UplinkConnection> uplinks = [Uplink(loops[0]), Uplink(loops[0]), Uplink(loops[1])];
        Assert.Same(loops[2], UplinkPlacement.TryMove(loops, uplinks, new Arrived(loops[0])));
        Assert.Same(loops[1], UplinkPlacement.TryMove(loops, [.. uplinks, Uplink(loops[2]), Uplink(loops[2])], new Arrived(loops[0])));
    }

    [Fact]
    public void Of_several_such_it_goes_to_the_one_that_waits_for_the_fewest_sockets()
    {
        var loops = Start(3);
        Load(loops[0], 1);
        Load(loops[1], 3);
        Load(loops[2], 2);
        Assert.Same(loops[2], UplinkPlacement.TryMove(loops, [Uplink(loops[0])], new Arrived(loops[0])));
    }

    [Theory]
    [InlineData(2, 1, false)]
    [InlineData(3, 1, true)]
    public void It_does_not_count_itself_and_does_not_move_to_a_loop_that_is_as_good(int here, int there, bool moves)
    {
        var loops = Start(2);
        Load(loops[0], here);
        Load(loops[1], there);
        var moved = new Arrived(loops[0]);
        Assert.Same(moves ? loops[1] : null, UplinkPlacement.TryMove(loops, [], moved));
        Assert.Equal(moves ? 1 : 0, moved.Moves);
    }

    [Fact]
    public void A_loop_that_is_out_of_service_gets_nothing()
    {
        var loops = Start(2);
        loops[1].Dispose();
        Assert.Null(UplinkPlacement.TryMove(loops, [Uplink(loops[0])], new Arrived(loops[0])));
    }

    [Fact]
    public void A_connection_that_cannot_move_stays()
    {
        var loops = Start(2);
        var moved = new Arrived(loops[0]) { CanMove = false };
        Assert.Null(UplinkPlacement.TryMove(loops, [Uplink(loops[0])], moved));
        Assert.Equal(1, moved.Moves);
    }

    public void Dispose() => _things.ForEach(static thing => thing.Dispose());

    private EpollLoop[] Start(int count)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "epoll");
        var loops = new EpollLoop[count];
        for (var i = 0; i < count; i++)
        {
            _things.Add(loops[i] = new EpollLoop(number: i));
        }

        return loops;
    }

    private void Load(EpollLoop loop, int sockets)
    {
        for (var i = 0; i < sockets; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            _things.Add(socket);
            Assert.Equal(0, loop.Register(new Quiet(), (int)socket.SafeHandle.DangerousGetHandle(), 0));
        }
    }

    private static UplinkConnection Uplink(EpollLoop loop) => new(
        InMemoryTransport.CreatePair(1024, PipeScheduler.ThreadPool).Left,
        new UplinkSettings { Role = UplinkRole.Entry, WriterScheduler = loop });

    private sealed class Quiet : EpollHandle
    {
        public override void OnEvents(uint mask)
        {
        }

        public override void OnLoopStopped()
        {
        }

        public override void OnLoopLost()
        {
        }

        public override void OnFault()
        {
        }
    }

    /// <summary>A connection that has just arrived.</summary>
    private sealed class Arrived(PipeScheduler? home) : IUplinkTransport
    {
        public bool CanMove { get; init; } = true;

        public int Moves { get; private set; }

        public PipeScheduler? Home => home;

        public string RemoteName => "arrived";

        public bool TryMoveTo(PipeScheduler to)
        {
            Moves++;
            return CanMove;
        }

        public ValueTask<int> ReceiveAsync(Memory<byte> buffer) => throw new NotSupportedException();

        public ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => throw new NotSupportedException();

        public void ShutdownSend() => throw new NotSupportedException();

        public void Abort() => throw new NotSupportedException();

        public ValueTask DisposeAsync() => throw new NotSupportedException();
    }
}
