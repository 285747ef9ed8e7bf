using System.Security.Cryptography;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>An agent that is about to stop and serves on until then.</summary>
[Trait("Engine", "each")]
public sealed class HandOverTests
{
    private static readonly byte[] _handOver = UplinkFrames.GoAway(GoAwayPhase.Notice, SessionEndReason.HandOver);
    private static readonly byte[] _goodbye = UplinkFrames.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown);

    [Fact]
    public async Task It_gets_requests_until_it_says_goodbye_and_again_when_it_takes_that_back()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await RawUplink.ConnectAsAgentAsync(entry.Uplink);
        await using var endless = await RawHttpClient.ConnectAsync(entry.Http);
        await endless.SendRequestAsync("/endless", TunnelFixture.Host);
        var first = await ReadHeadAsync(agent);
        await agent.SendAsync(UplinkFrames.Response(first.Stream, end: false), _handOver);
        Assert.Equal(200, (await endless.ReadHeadAsync()).StatusCode);
        await AssertServesAsync(entry, agent);

        await agent.SendAsync(_goodbye);
        await entry.UntilAsync(() => !entry.Session.Tunnel.Uplinks[0].IsOpenForStreams, "the goodbye has come");
        await using var waiting = await RawHttpClient.ConnectAsync(entry.Http);
        await waiting.SendRequestAsync("/waits", TunnelFixture.Host);
        await entry.WaitForParkedAsync(1);

        await agent.SendAsync(_handOver);
        var second = await ReadHeadAsync(agent);
        await agent.SendAsync(UplinkFrames.Response(second.Stream, body: "served"));
        Assert.Equal(200, (await waiting.ReadHeadAsync()).StatusCode);
        await AssertServesAsync(entry, agent);

        // Behind its last goodbye and the end of its last stream it is let go.
        await agent.SendAsync(_goodbye, UplinkFrames.Data(first.Stream, "", end: true));
        ReceivedFrame? frame;
        while ((frame = await agent.ReadAsync()) is not null and not { Type: FrameType.GoAway })
        {
            // Credit and what else there is.
        }

        Assert.Equal(GoAwayPhase.Final, frame!.GoAway.Phase);
    }

    [Fact]
    public async Task Its_successor_may_take_its_name_over_and_it_finishes_what_it_has()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var older = await RawUplink.ConnectAsAgentAsync(entry.Uplink);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var request = await ReadHeadAsync(older);
        await using var early = await RawUplink.ConnectAsync(entry.Uplink);
        await early.SendAsync(RawUplink.Hello().ToFrame());
        Assert.Equal(RejectCode.NameTaken, (await early.ReadAsync())!.Reject.Code);

        await older.SendAsync(_handOver);
        await entry.HandOvers.WaitForAsync(1);
        await using var younger = await RawUplink.ConnectAsAgentAsync(entry.Uplink);
        await AssertServesAsync(entry, younger);
        ReceivedFrame? frame;
        while ((frame = await older.ReadAsync()) is not null and not { Type: FrameType.GoAway })
        {
            // Credit and what else there is.
        }

        Assert.Equal((GoAwayPhase.Notice, SessionEndReason.Superseded), (frame!.GoAway.Phase, frame.GoAway.Reason));

        // After anything that it says now, nothing new goes to it.
        await older.SendAsync(_handOver);
        await AssertServesAsync(entry, younger);
        await older.SendAsync(UplinkFrames.Response(request.Stream, body: "served"));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
    }

    [Fact]
    public async Task Its_successor_in_the_same_process_cuts_nothing_of_it()
    {
        var process = RandomNumberGenerator.GetBytes(16);
        await using var entry = await EntryFixture.StartAsync();
        await using var older = await RawUplink.ConnectAsAgentAsync(entry.Uplink, instanceKey: process);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var request = await ReadHeadAsync(older);
        await older.SendAsync(_handOver);
        await entry.HandOvers.WaitForAsync(1);

        await using var younger = await RawUplink.ConnectAsAgentAsync(entry.Uplink, instanceKey: process);
        await AssertServesAsync(entry, younger);
        await older.SendAsync(UplinkFrames.Response(request.Stream, body: "served"));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
    }

    private static async Task AssertServesAsync(EntryFixture entry, RawUplink agent)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/served", TunnelFixture.Host);
        var head = await ReadHeadAsync(agent);
        await agent.SendAsync(UplinkFrames.Response(head.Stream, body: "served"));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
    }

    private static async Task<ReceivedFrame> ReadHeadAsync(RawUplink agent)
    {
        ReceivedFrame? frame;
        while ((frame = await agent.ReadAsync()) is { Type: not FrameType.Headers })
        {
            // Credit and what else there is.
        }

        return frame ?? throw new InvalidOperationException("The entry has ended the uplink.");
    }
}
