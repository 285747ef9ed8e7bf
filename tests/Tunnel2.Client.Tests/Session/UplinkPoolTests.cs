using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Tests.Session;

/// <summary>The uplinks of one session: how many there are, how lost ones come back, and what ends them all.</summary>
public sealed class UplinkPoolTests
{
    private static AgentOptions Options(int uplinks) => SessionFixture.Options with { Uplinks = UplinkPolicy.Fixed(uplinks) };

    [Theory]
    [InlineData(3, 4, 3)]
    [InlineData(3, 2, 2)]
    [InlineData(1, 4, 1)]
    public Task As_many_as_are_wanted_and_the_server_takes_are_dialled(int wanted, int taken, int expected) => SessionFixture.RunAsync(
        async fixture =>
        {
            fixture.Server.Welcome = fixture.Server.Welcome with { MaxUplinks = (byte)taken };
            var running = fixture.Start();
            var served = await ServeAsync(fixture, expected);
            fixture.Time.Advance(TimeSpan.FromMinutes(1));
            Assert.Equal(expected, fixture.Server.Dialled.Value);
            await fixture.UntilAsync(() => fixture.Watched == expected, "all are watched");
            await EndAsync(running, served);
        },
        Options(wanted));

    [Fact]
    public Task A_server_that_knows_of_one_uplink_only_gets_one() => SessionFixture.RunAsync(
        async fixture =>
        {
            fixture.Server.Welcome = fixture.Server.Welcome with { Capabilities = HandshakeCapabilities.None };
            var running = fixture.Start();
            var served = await ServeAsync(fixture, 1);
            fixture.Time.Advance(TimeSpan.FromMinutes(1));
            Assert.Equal(1, fixture.Server.Dialled.Value);
            await EndAsync(running, served);
        },
        Options(4));

    [Fact]
    public Task A_lost_uplink_comes_back_while_the_session_lives_on() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var served = await ServeAsync(fixture, 2);
            served[0].Uplink.TryEnd(new UplinkEnd(SessionEndReason.Internal));
            await served[0].Run;
            await fixture.UntilAsync(() => fixture.Watched == 1, "the lost one has left the session");
            await fixture.AdvanceUntilAsync(() => fixture.Server.Dialled.Value == 3);
            served.Add(await fixture.Server.ServeAsync(FrameType.Join));
            await fixture.UntilAsync(() => fixture.Watched == 2, "both are watched");
            Assert.False(running.IsCompleted);
            await EndAsync(running, served);
        },
        Options(2));

    [Fact]
    public Task It_ends_with_its_last_uplink() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var served = await ServeAsync(fixture, 2);
            fixture.Server.Refusal = SocketError.ConnectionRefused;
            served[0].Transport.Abort();
            await served[0].Run;
            await fixture.UntilAsync(() => fixture.Watched == 1, "one is left");
            Assert.False(running.IsCompleted);
            served[1].Transport.Abort();
            Assert.Equal(ConnectionEndReason.Lost, (await running).Reason);
            await served[1].Run;
        },
        Options(2));

    [Theory]
    [InlineData(SessionEndReason.ProtocolError, ConnectionEndReason.Lost)]
    [InlineData(SessionEndReason.ControlQueueOverflow, ConnectionEndReason.Lost)]
    public Task A_broken_protocol_on_one_uplink_ends_all(SessionEndReason reason, ConnectionEndReason expected) => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var served = await ServeAsync(fixture, 3);
            served[1].Uplink.TryEnd(new UplinkEnd(reason, ProtocolError.None));
            Assert.Equal(expected, (await running).Reason);
            for (var i = 0; i < served.Count; i++)
            {
                // The others end with the reason: for the server, an uplink that only breaks is a lost one.
                var end = await served[i].Run;
                Assert.Equal((reason, i != 1), (end.Reason, end.ByPeer));
            }
        },
        Options(3));

    /// <summary>The clock is stopped: the farewell of the uplink that broke it does not end.</summary>
    [Fact]
    public Task The_others_do_not_wait_for_the_end_of_the_one_that_broke_the_protocol() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var first = await fixture.Server.ServeAsync();
            var transport = await fixture.Server.AcceptAsync();
            await MemoryServer.ReadFirstAsync(transport);
            await transport.SendAsync(fixture.Server.Welcome.ToFrame());
            await fixture.UntilAsync(() => fixture.Watched == 2, "both are watched");
            await transport.SendAsync(new byte[8]);
            var end = await first.Run;
            Assert.Equal((SessionEndReason.ProtocolError, true), (end.Reason, end.ByPeer));
            Assert.False(running.IsCompleted);
            transport.Abort();
            Assert.Equal(ConnectionEndReason.Lost, (await running).Reason);
        },
        Options(2));

    [Theory]
    [InlineData(SessionEndReason.Superseded, ConnectionEndReason.Superseded)]
    [InlineData(SessionEndReason.Revoked, ConnectionEndReason.RejectedPermanently)]
    public Task What_was_said_of_the_session_counts_also_if_another_uplink_ends_last(
        SessionEndReason reason, ConnectionEndReason expected) => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var served = await ServeAsync(fixture, 2);
            fixture.Server.Refusal = SocketError.ConnectionRefused;
            served[0].Uplink.TryEnd(new UplinkEnd(reason));
            await served[0].Run;
            await fixture.UntilAsync(() => fixture.Watched == 1, "one is left");
            served[1].Transport.Abort();
            Assert.Equal(expected, (await running).Reason);
            await served[1].Run;
        },
        Options(2));

    [Fact]
    public Task A_join_that_fails_is_tried_again_ever_more_seldom() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var first = await fixture.Server.ServeAsync();
            await fixture.Server.RejectAsync(RejectCode.Overloaded, TimeSpan.FromSeconds(60), FrameType.Join);
            var before = fixture.Time.Elapsed;
            await fixture.AdvanceUntilAsync(() => fixture.Server.Dialled.Value == 3);
            Assert.InRange(fixture.Time.Elapsed - before, TimeSpan.FromSeconds(59), TimeSpan.FromDays(1));
            var second = await fixture.Server.ServeAsync(FrameType.Join);
            await fixture.UntilAsync(() => fixture.Watched == 2, "both are watched");
            await EndAsync(running, [first, second]);
        },
        Options(2));

    [Fact]
    public Task An_unknown_session_is_asked_for_once_more_at_once_with_the_next_counter() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var first = await fixture.Server.ServeAsync();
            var counters = new List<ulong>();
            for (var i = 0; i < 2; i++)
            {
                var transport = await fixture.Server.AcceptAsync();
                var (_, payload) = await MemoryServer.ReadFirstAsync(transport);
                Assert.Equal(ProtocolError.None, JoinMessage.TryRead(payload, out var join));
                Assert.True(join!.IsProvenBy(fixture.Server.Welcome.JoinSecret.Span));
                counters.Add(join.Counter);
                await transport.SendAsync(new RejectMessage(RejectCode.UnknownSession, TimeSpan.Zero, "").ToFrame());
            }

            Assert.Equal([1UL, 2], counters);
            Assert.Equal(3, fixture.Server.Dialled.Value);
            await EndAsync(running, [first]);
        },
        Options(2));

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_welcome_to_another_session_joins_nothing(bool otherEpoch) => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var first = await fixture.Server.ServeAsync();
            var transport = await fixture.Server.AcceptAsync();
            await MemoryServer.ReadFirstAsync(transport);
            var id = new byte[WelcomeMessage.SessionIdLength];
            id[3] = otherEpoch ? (byte)0 : (byte)1;
            await transport.SendAsync((fixture.Server.Welcome with { Epoch = otherEpoch ? 8UL : 7, SessionId = id }).ToFrame());
            await fixture.UntilAsync(() => !transport.Incoming.IsOpen, "the connection is given up");
            Assert.Equal(1, fixture.Watched);
            await EndAsync(running, [first]);
        },
        Options(2));

    [Fact]
    public Task It_is_over_only_after_the_dial_that_was_under_way() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var (begun, mayEnd) = (false, new TaskCompletionSource());
            fixture.Server.BeforeConnect = () =>
            {
                begun = true;
                return mayEnd.Task;
            };
            var first = await fixture.Server.ServeAsync();
            await fixture.UntilAsync(() => Volatile.Read(ref begun), "another uplink is dialled");
            first.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
            await first.Run;
            await fixture.UntilAsync(() => fixture.Watched == 0, "no uplink is left");
            await fixture.SettleAsync();
            Assert.False(running.IsCompleted);
            mayEnd.SetResult();
            Assert.Equal(ConnectionEndReason.GoingAway, (await running).Reason);
        },
        Options(2));

    private static async Task<List<ServedUplink>> ServeAsync(SessionFixture fixture, int count)
    {
        var served = new List<ServedUplink> { await fixture.Server.ServeAsync() };
        while (served.Count < count)
        {
            served.Add(await fixture.Server.ServeAsync(FrameType.Join));
        }

        await fixture.UntilAsync(() => fixture.Watched == count, "all are open");
        return served;
    }

    private static async Task EndAsync(Task<ConnectionEnd> running, IEnumerable<ServedUplink> served)
    {
        foreach (var one in served)
        {
            one.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
            await one.Run;
        }

        Assert.Equal(ConnectionEndReason.GoingAway, (await running).Reason);
    }
}
