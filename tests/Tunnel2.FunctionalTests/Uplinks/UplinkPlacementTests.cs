using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>The uplinks of a session at ProxyEntry live on different event loops, in any order of events.</summary>
public sealed class UplinkPlacementTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();

    [Fact]
    public async Task An_uplink_that_would_share_a_loop_with_another_of_its_session_moves_before_it_begins()
    {
        await using var entry = await EntryFixture.StartAsync();
        Assert.SkipUnless(entry.Loops.Count > 1, "There is one loop, or none.");
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var closing = first;
        var others = new List<RawUplink>();
        for (var i = 1; i < entry.Loops.Count; i++)
        {
            // The listener deals out in turn: with strangers in between the next one would come to the same loop as the last.
            for (var stranger = 1; stranger < entry.Loops.Count; stranger++)
            {
                others.Add(await RawUplink.ConnectAsync(entry.Uplink));
            }

            others.Add(await RawUplink.JoinAsync(entry.Uplink, welcome, (ulong)i));
            Assert.Empty(await others[^1].SyncAsync());
        }

        Assert.Equal(entry.Loops.Count, LoopsOf(entry));
        foreach (var other in others)
        {
            await other.DisposeAsync();
        }

        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Requests_go_both_ways_on_uplinks_that_have_moved(bool isTls)
    {
        await File.WriteAllTextAsync(_folder["uplink.pem"], _authority.Issue("127.0.0.1"));
        await File.WriteAllTextAsync(_folder["ca.pem"], _authority.Pem);
        await TunnelFixture.RunAsync(
            async tunnel =>
            {
                await tunnel.Entry.WaitForUplinksAsync(3);
                for (var cut = 1; cut < 3; cut++)
                {
                    // The next in turn is the loop of one that is open.
                    var lost = tunnel.Entry.Session.Tunnel.Uplinks.Single(uplink => uplink.Slot == cut);
                    tunnel.Link.Connections[cut].Cut(CutMode.Reset);
                    await tunnel.Entry.UntilAsync(
                        () => tunnel.Entry.Session.Tunnel.Uplinks is { Count: 3 } now && !now.Contains(lost), "three uplinks again");
                    Assert.Equal(Math.Clamp(tunnel.Entry.Loops.Count, 1, 3), LoopsOf(tunnel.Entry));
                }

                var answers = await Task.WhenAll(Enumerable.Range(0, 30).Select(i => tunnel.ExchangeAsync($"/bytes/{i * 10_000}")));
                for (var i = 0; i < answers.Length; i++)
                {
                    Assert.Equal((200, i * 10_000), (answers[i].Head.StatusCode, answers[i].Body.Bytes.Length));
                    PatternBytes.Verify(answers[i].Body.Bytes, 0);
                }
            },
            new TunnelSetup
            {
                Settings = isTls ? ["Uplink:Certificate=" + _folder["uplink.pem"]] : [],
                Agent = options =>
                    options with
                    {
                        Uplinks = UplinkPolicy.Fixed(3),
                        Tls = isTls ? new TlsOptions { ServerCaFile = _folder["ca.pem"] } : null,
                    },
                CanBeCut = true,
            });
    }

    private static int LoopsOf(EntryFixture entry) =>
        entry.Session.Tunnel.Uplinks.Select(static uplink => uplink.Settings.WriterScheduler).Distinct().Count();

    public void Dispose()
    {
        _folder.Dispose();
        _authority.Dispose();
    }
}
