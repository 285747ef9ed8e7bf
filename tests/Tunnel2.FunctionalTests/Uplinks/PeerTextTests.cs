using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>What a peer says of itself reaches logs and events as text, and as nothing that steers who reads them.</summary>
public sealed class PeerTextTests
{
    private const string Evil = "1.0\r\n\u001b[2J\u009b1m\u202e\u200b\u2028evil";
    private const string Clean = "1.0???[2J?1m???evil";

    [Fact]
    public async Task An_agents_words_are_clean_in_the_servers_log_and_status()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using (var uplink = await RawUplink.ConnectAsync(entry.Uplink))
        {
            await uplink.SendAsync((RawUplink.Hello() with { AgentName = Evil, AgentVersion = Evil }).ToFrame());
            Assert.NotNull((await uplink.ReadAsync())!.Welcome);
            Assert.Equal(Clean, entry.Session.AgentVersion);

            var frame = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength];
            await uplink.SendAsync(frame[..ControlFrames.WriteGoAway(frame, GoAwayPhase.Final, SessionEndReason.Internal, Evil)]);
            await uplink.ReadToEndAsync();
        }

        await entry.Log.WaitForAsync(2001);
        Assert.Contains(entry.Log.All, static line => line.EventId == 2000 && line.Text.Contains(Clean, StringComparison.Ordinal));
        Assert.All(entry.Log.All, static line => AssertPlain(line.Text));
    }

    [Fact]
    public async Task A_name_that_is_refused_is_clean_in_the_servers_log()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var uplink = await RawUplink.ConnectAsync(entry.Uplink);
        await uplink.SendAsync((RawUplink.Hello(Evil) with { AgentId = Evil }).ToFrame());
        Assert.Equal(RejectCode.InvalidName, (await uplink.ReadAsync())!.Reject.Code);
        Assert.All(entry.Log.All, static line => AssertPlain(line.Text));
    }

    [Fact]
    public async Task A_servers_words_are_clean_where_the_agent_shows_them()
    {
        await using var raw = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        foreach (var rejects in new[] { true, false })
        {
            await using var server = RawTcpServer.Start(async connection =>
            {
                var uplink = new RawUplink(connection);
                await uplink.ReadAsync();
                if (rejects)
                {
                    await uplink.SendAsync(new RejectMessage(RejectCode.NameNotAllowed, TimeSpan.Zero, Evil).ToFrame());
                    await connection.WaitForEndAsync();
                    return;
                }

                await uplink.SendAsync((RawUplink.Welcome() with { Name = Evil, PublicUrls = [$"http://{Evil}"] }).ToFrame());
                var frame = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength];
                await uplink.SendAsync(frame[..ControlFrames.WriteGoAway(frame, GoAwayPhase.Final, SessionEndReason.Internal, Evil)]);
                await uplink.ReadToEndAsync();
            });
            await using var agent = AgentFixture.Start(AgentFixture.Options(server.Port, raw.Port));
            await agent.Events.EndCount.WaitForAsync(1, TimeSpan.FromSeconds(15));
            var end = agent.Events.Ends[0];
            AssertPlain(end.Message);
            AssertPlain(end.Rejection?.Text ?? "");
            Assert.Contains(Clean, end.Rejection?.Text ?? end.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_text_that_never_ends_is_cut()
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            var uplink = new RawUplink(connection);
            await uplink.ReadAsync();

            // As long as the frame may be, and longer than a text may be.
            var payload = new byte[ProtocolLimits.MaxRejectLength];
            payload[1] = (byte)RejectCode.NameNotAllowed;
            payload[6] = (ProtocolLimits.MaxRejectLength - 8) >> 8;
            payload[7] = (ProtocolLimits.MaxRejectLength - 8) & 0xFF;
            payload.AsSpan(8).Fill((byte)'x');
            await uplink.SendAsync(UplinkFrames.Make(FrameType.Reject, FrameFlags.None, StreamId.Uplink, payload));
            await connection.WaitForEndAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(server.Port, 1));
        await agent.Events.EndCount.WaitForAsync(1, TimeSpan.FromSeconds(15));
        Assert.Equal(1025, agent.Events.Ends[0].Rejection?.Text.Length);
    }

    private static void AssertPlain(string text)
    {
        foreach (var rune in text.EnumerateRunes())
        {
            Assert.True(
                Rune.GetUnicodeCategory(rune) is not (
                    System.Globalization.UnicodeCategory.Control or System.Globalization.UnicodeCategory.Format
                    or System.Globalization.UnicodeCategory.LineSeparator or System.Globalization.UnicodeCategory.ParagraphSeparator),
                $"U+{rune.Value:X4} in {text}");
        }
    }
}
