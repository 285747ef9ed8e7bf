using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>Agents' connections on their way from the listening socket to the acceptor, and the place that each takes until then.</summary>
public sealed class UplinkListenerTests
{
    private readonly RecordedLog<UplinkListener> _log = new();

    [Fact]
    public Task An_agent_is_served_and_gives_its_place_back() => RunAsync(async (fixture, listener) =>
    {
        using var agent = Connect(listener);
        Assert.Equal(FrameType.Welcome, Say(agent, AcceptorFixture.Hello().ToFrame()));
        Assert.Equal("web", fixture.Session.Name);
        AssertNothingIsPending(fixture);
        agent.Dispose();
        await fixture.UntilAsync(() => fixture.Directory.Count == 0 && fixture.Quota.Connections == 0, "the agent has left");
        AssertNothingIsPending(fixture);
    });

    [Fact]
    public Task An_agent_that_is_refused_gives_its_place_back() => RunAsync(async (fixture, listener) =>
    {
        using var agent = Connect(listener);
        await fixture.UntilAsync(() => fixture.Handshakes.Limit.Count == 1, "the agent has a place");
        Assert.Equal(FrameType.Reject, Say(agent, Frame.Ping(1)));
        agent.Dispose();
        await fixture.UntilAsync(() => fixture.Handshakes.Limit.Count == 0, "the place is free");
        AssertNothingIsPending(fixture);
    });

    [Fact]
    public Task Who_is_connected_stays_when_no_other_may_come() => RunAsync(async (fixture, listener) =>
    {
        using var agent = Connect(listener);
        await fixture.UntilAsync(() => fixture.Handshakes.Limit.Count == 1, "the agent has a place");
        var endPoint = listener.EndPoint;
        listener.StopAccepting();
        Assert.Throws<SocketException>(() => Connect(endPoint));
        Assert.Equal(FrameType.Welcome, Say(agent, AcceptorFixture.Hello().ToFrame()));
        agent.Dispose();
        await fixture.UntilAsync(() => fixture.Directory.Count == 0 && fixture.Quota.Connections == 0, "the agent has left");
    });

    [Fact]
    public Task A_fault_of_ours_with_one_agent_is_logged_and_the_next_one_is_served() => AcceptorFixture.RunAsync(async fixture =>
    {
        var listener = Listen(fixture, new FailingOnce(fixture.Engine));
        using var first = Connect(listener);
        Assert.Equal(0, first.Receive(new byte[1]));
        await fixture.UntilAsync(() => _log.Lines.Count == 1 && fixture.Handshakes.Limit.Count == 0, "the fault is over");
        Assert.Equal(2008, _log.Lines[0].Id);
        using var second = Connect(listener);
        Assert.Equal(FrameType.Reject, Say(second, Frame.Ping(1)));
        second.Dispose();
        await EndAsync(fixture, listener);
    });

    [Fact]
    public void All_addresses_are_those_of_both_families()
    {
        Assert.SkipUnless(LoopbackV6.IsThere, "No ::1 here.");
        using var both = UplinkListener.Bind(new IPEndPoint(IPAddress.IPv6Any, 0));
        using var one = UplinkListener.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
        Assert.Equal((true, false), (both.DualMode, one.DualMode));
    }

    [Fact]
    public void An_address_that_is_taken_is_an_error()
    {
        using var first = UplinkListener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        first.Listen();
        var error = Assert.Throws<SocketException>(() => UplinkListener.Bind((IPEndPoint)first.LocalEndPoint!));
        Assert.Equal(SocketError.AddressAlreadyInUse, error.SocketErrorCode);
    }

    private static void AssertNothingIsPending(AcceptorFixture fixture) =>
        Assert.Equal((0, 0), (fixture.Handshakes.Limit.Count, fixture.Handshakes.EndOldest(10, TimeSpan.Zero)));

    private static Socket Connect(UplinkListener listener) => Connect(listener.EndPoint);

    private static Socket Connect(IPEndPoint endPoint)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = 20_000 };
        try
        {
            socket.Connect(endPoint);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Says something, and reads the head of the answer.</summary>
    private static FrameType Say(Socket agent, byte[] bytes)
    {
        agent.Send(bytes);
        var answer = new byte[FrameHeader.Size];
        for (var read = 0; read < answer.Length;)
        {
            var received = agent.Receive(answer.AsSpan(read));
            Assert.NotEqual(0, received);
            read += received;
        }

        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(answer, out var header));
        return header.Type;
    }

    private Task RunAsync(Func<AcceptorFixture, UplinkListener, Task> body) => AcceptorFixture.RunAsync(async fixture =>
    {
        var listener = Listen(fixture, fixture.Engine);
        await body(fixture, listener);
        await EndAsync(fixture, listener);
        Assert.Empty(_log.Lines);
    });

    private UplinkListener Listen(AcceptorFixture fixture, IEngine engine)
    {
        var listener = new UplinkListener(
            UplinkListener.Bind(new IPEndPoint(IPAddress.Loopback, 0)),
            fixture.Acceptor,
            null,
            engine,
            fixture.Handshakes,
            static _ => Assert.Fail("The system was out of something."),
            fixture.Time,
            _log);
        listener.Start();
        return listener;
    }

    private static async Task EndAsync(AcceptorFixture fixture, UplinkListener listener)
    {
        await fixture.UntilAsync(() => fixture.Handshakes.Limit.Count == 0, "no connection is in a handshake");
        var ending = listener.DisposeAsync().AsTask();
        await fixture.UntilAsync(() => ending.IsCompleted, "the listener has ended");
        await ending;
    }

    /// <summary>An engine that has a fault with its first connection.</summary>
    private sealed class FailingOnce(IEngine engine) : IEngine
    {
        private int _connections;

        public EngineMode Mode => engine.Mode;

        public bool IsInline => engine.IsInline;

        public ContainedFaults Faults => engine.Faults;

        public IUplinkTransport CreateUplinkTransport(Socket socket) =>
            _connections++ == 0 ? throw new InvalidTimeZoneException() : new SocketTransport(socket);

        public UplinkSettings Apply(UplinkSettings settings) => engine.Apply(settings);

        public void Dispose()
        {
        }
    }
}
