using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>What comes to the real listener for agents and is none, or means harm. A good agent is served beside it all the time.</summary>
public sealed class HostileAgentTests
{
    private static readonly StreamId _first = new(0, 1);

    public static TheoryData<string, byte[]> Strangers => new()
    {
        { "garbage", Encoding.Latin1.GetBytes("\u00ff\u00fe\u00fd\u00fc\u00fb\u00fa\u00f9\u00f8\u00f7") },
        { "zeros", new byte[64] },
        { "a TLS hello", Convert.FromHexString("1603010200010001fc0303") },
        { "an HTTP request", "GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n"u8.ToArray() },
        { "16 MB announced", UplinkFrames.Announce(FrameType.Hello, StreamId.Uplink, (1 << 24) - 1) },
        { "a HELLO one byte too long", UplinkFrames.Announce(FrameType.Hello, StreamId.Uplink, ProtocolLimits.MaxHelloLength + 1) },
        { "an empty HELLO", UplinkFrames.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, []) },
        { "a HELLO with another magic", UplinkFrames.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, new byte[100]) },
        { "a HELLO that ends in its middle", UplinkFrames.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, "TNL2\x01\x01"u8) },
        { "a HELLO on a stream", UplinkFrames.Make(FrameType.Hello, FrameFlags.None, _first, "TNL2"u8) },
        { "DATA before HELLO", UplinkFrames.Data(_first, "x") },
        { "a response before HELLO", UplinkFrames.Response(_first) },
        { "a PING before HELLO", UplinkFrames.Ping(1) },
        { "a WELCOME", RawUplink.Welcome().ToFrame() },
        { "a critical frame of an unknown type", UplinkFrames.Make((FrameType)30, FrameFlags.Critical, StreamId.Uplink, []) },
        { "a JOIN to nothing", JoinMessage.Create(new byte[16], new byte[32], 1).ToFrame() },
    };

    [Theory]
    [MemberData(nameof(Strangers))]
    public Task A_stranger_is_informed_and_closed_and_leaves_nothing(string what, byte[] bytes) => BesideAGoodAgentAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsync(tunnel.Entry.Uplink);
        await peer.SendAsync(bytes);
        var answers = await peer.ReadToEndAsync();
        var reject = Assert.Single(answers).Reject;
        Assert.True(
            reject.Code == (what.Contains("JOIN", StringComparison.Ordinal) ? RejectCode.UnknownSession : RejectCode.Malformed),
            $"{what}: {reject.Code}");
        Assert.Equal(ConnectionEnding.Fin, peer.Connection.Ending);
    });

    [Fact]
    public Task An_agent_of_another_version_learns_which_ones_there_are() => BesideAGoodAgentAsync(async tunnel =>
    {
        foreach (var (lowest, highest) in new[] { ((byte)2, (byte)9), ((byte)0, (byte)0), ((byte)3, (byte)1) })
        {
            await using var peer = await RawUplink.ConnectAsync(tunnel.Entry.Uplink);
            await peer.SendAsync((RawUplink.Hello("other") with { LowestVersion = lowest, HighestVersion = highest }).ToFrame());
            Assert.Equal(RejectCode.VersionNotSupported, Assert.Single(await peer.ReadToEndAsync()).Reject.Code);
        }
    });

    [Theory]
    [InlineData(0)]
    [InlineData(7)]
    [InlineData(30)]
    public async Task A_peer_that_does_not_finish_its_hello_within_ten_seconds_is_closed(int sent)
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time);
        var limits = time.SetFor(ProtocolLimits.HandshakeTimeout);
        var before = limits.Value;
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await limits.WaitForAsync(before + 1);
        await peer.Connection.WriteAsync(RawUplink.Hello().ToFrame().AsMemory(0, sent));
        time.Advance(ProtocolLimits.HandshakeTimeout);
        Assert.NotEqual(ConnectionEnding.Open, await peer.Connection.WaitForEndAsync());
        Assert.Equal(0, entry.Directory.Count);
        entry.Log.AssertNoErrors();
    }

    public static TheoryData<string, byte[], ProtocolError> Breaches => new()
    {
        { "a second HELLO", RawUplink.Hello().ToFrame(), ProtocolError.UnexpectedHandshake },
        { "a WELCOME", RawUplink.Welcome().ToFrame(), ProtocolError.UnexpectedHandshake },
        { "a stream of its own", UplinkFrames.Request(_first), ProtocolError.StreamNotAllowed },
        { "DATA on a stream never opened", UplinkFrames.Data(_first, "x"), ProtocolError.UnknownStream },
        { "an answer to a stream never opened", UplinkFrames.Response(new StreamId(5, 1)), ProtocolError.UnknownStream },
        { "a RST of a stream never opened", UplinkFrames.Rst(_first, StreamResetReason.Cancel), ProtocolError.UnknownStream },
        { "a WINDOW for a stream never opened", UplinkFrames.Window(_first, 1), ProtocolError.UnknownStream },
        { "an answer to a slot beyond all", UplinkFrames.Response(new StreamId(65_535, 1)), ProtocolError.UnknownStream },
        { "16 MB announced", UplinkFrames.Announce(FrameType.Data, _first, (1 << 24) - 1), ProtocolError.FrameTooLong },
        {
            "DATA one byte too long",
            UplinkFrames.Announce(FrameType.Data, _first, ProtocolLimits.MaxDataLength + 1),
            ProtocolError.FrameTooLong},
        { "a header of zeros", new byte[8], ProtocolError.ReservedFrameType },
        { "a WINDOW of nothing", UplinkFrames.Window(StreamId.Uplink, 0), ProtocolError.InvalidWindowIncrement },
        {
            "a WINDOW beyond all",
            [.. UplinkFrames.Window(StreamId.Uplink, int.MaxValue), .. UplinkFrames.Window(StreamId.Uplink, int.MaxValue)],
            ProtocolError.CreditOverflow},
        { "a PING on a stream", UplinkFrames.Make(FrameType.Ping, FrameFlags.None, _first, new byte[8]), ProtocolError.InvalidStreamId },
        {
            "an unknown critical frame",
            UplinkFrames.Make((FrameType)30, FrameFlags.Critical, StreamId.Uplink, []),
            ProtocolError.UnknownCriticalFrame},
        {
            "a block longer than its frame",
            UplinkFrames.Make(FrameType.Headers, FrameFlags.End, _first, [0, 1, 0, 2]),
            ProtocolError.HeaderBlockTooLong},
    };

    [Theory]
    [MemberData(nameof(Breaches))]
    public Task An_agent_that_breaks_the_protocol_learns_how_and_its_session_ends(
        string what, byte[] bytes, ProtocolError error) => BesideAGoodAgentAsync(
        async tunnel =>
        {
            await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "evil");
            Assert.Equal(2, tunnel.Entry.Directory.Count);
            await peer.SendAsync(bytes);
            var (phase, reason, text) = (await peer.ReadAsync())!.GoAway;
            Assert.True(
                (phase, reason, text) == (GoAwayPhase.Final, SessionEndReason.ProtocolError, error.ToString()),
                $"{what}: {phase} {reason} {text}");
            await peer.Connection.CloseAsync();
            await tunnel.Entry.WaitForSessionsAsync(1);
        });

    [Fact]
    public Task An_agent_that_got_the_notice_and_does_not_leave_is_closed() => BesideAGoodAgentAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "evil");
        await peer.SendAsync(new byte[8]);
        Assert.Equal(FrameType.GoAway, Assert.Single(await peer.ReadToEndAsync()).Type);
        await tunnel.Entry.WaitForSessionsAsync(1);
    });

    [Fact]
    public Task Unknown_frames_that_are_not_critical_are_passed_over() => BesideAGoodAgentAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "newer");
        await peer.SendAsync(UplinkFrames.Make((FrameType)30, FrameFlags.None, StreamId.Uplink, new byte[ProtocolLimits.MaxUnknownLength]));
        Assert.Empty(await peer.SyncAsync());
        await peer.Connection.CloseAsync();
    });

    [Fact]
    public Task More_bytes_than_the_credit_end_the_session_and_the_visitor_sees_a_cut() => BesideAGoodAgentAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "evil");
        await using var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4096);
        await visitor.SendRequestAsync("/", "evil.localhost");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(request.Stream, end: false));
        var frame = UplinkFrames.Data(request.Stream, new byte[ProtocolLimits.MaxDataLength]);
        var sending = Task.Run(async () =>
        {
            try
            {
                // Never mind the windows: the visitor reads nothing.
                for (var i = 0; i < 10_000; i++)
                {
                    await peer.SendAsync(frame);
                }
            }
            catch (Exception exception) when (exception is IOException or ObjectDisposedException)
            {
                // The entry had enough.
            }
        });
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((SessionEndReason.ProtocolError, nameof(ProtocolError.StreamCreditOverrun)), (goAway.Reason, goAway.Text));
        await tunnel.Entry.WaitForSessionsAsync(1);
        peer.Connection.Reset();
        await sending;
        var body = await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        Assert.Equal(ConnectionEnding.Fin, body.Ending);
    });

    [Fact]
    public Task Visitors_that_wait_for_a_session_that_ends_get_a_502() => BesideAGoodAgentAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "evil");
        var visitors = await Task.WhenAll(Enumerable.Range(0, 10).Select(async i =>
        {
            var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync($"/{i}", "evil.localhost");
            return visitor;
        }));
        for (var i = 0; i < 10; i++)
        {
            await peer.ReadUntilAsync(FrameType.Headers);
        }

        await peer.SendAsync(new byte[8]);
        foreach (var visitor in visitors)
        {
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "uplink-lost"), (head.StatusCode, head["Tunnel2-Error"]));
        }
    });

    private static Task BesideAGoodAgentAsync(Func<TunnelFixture, Task> test) => TunnelFixture.RunAsync(async tunnel =>
    {
        Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/10")).Head.StatusCode);
        await test(tunnel);
        Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/10")).Head.StatusCode);
        await tunnel.Entry.WaitForSessionsAsync(1);
        Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
    });
}
