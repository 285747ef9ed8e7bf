using System.Security.Cryptography;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>What floods of connections to the listener for agents leave in memory.</summary>
[Collection(MeasuringCollection.Name)]
public sealed class FloodMemoryTests
{
    [Fact]
    public async Task Hundreds_of_hostile_connections_leave_no_memory_behind()
    {
        await using var entry = await EntryFixture.StartAsync();
        await RunAsync(100);
        var before = GC.GetTotalMemory(forceFullCollection: true);
        await RunAsync(400);
        await entry.WaitForSessionsAsync(0);
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 8 * 1024 * 1024);
        entry.Log.AssertNoErrors();

        async Task RunAsync(int count)
        {
            for (var i = 0; i < count; i++)
            {
                await using var peer = i % 2 == 0
                    ? await RawUplink.ConnectAsync(entry.Uplink)
                    : await RawUplink.ConnectAsAgentAsync(entry.Uplink, $"evil-{i}");
                await peer.SendAsync(new byte[8]);
                Assert.NotNull(await peer.ReadAsync());
            }
        }
    }

    [Fact]
    public async Task A_flood_of_joins_leaves_the_session_and_the_memory_as_they_were()
    {
        await using var entry = await EntryFixture.StartAsync();
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var closing = first;
        var secret = RandomNumberGenerator.GetBytes(WelcomeMessage.JoinSecretLength);
        await FloodAsync(50);
        var before = GC.GetTotalMemory(forceFullCollection: true);
        await FloodAsync(400);
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 4 * 1024 * 1024);
        Assert.Empty(await first.SyncAsync());
        Assert.Single(entry.Session.Tunnel.Uplinks);
        entry.Log.AssertNoErrors();

        async Task FloodAsync(int count)
        {
            for (var i = 0; i < count; i += 25)
            {
                await Task.WhenAll(Enumerable.Range(0, 25).Select(n => RefusedAsync((ulong)n)));
            }
        }

        async Task RefusedAsync(ulong counter)
        {
            var join = JoinMessage.Create(welcome.SessionId, secret, counter);
            await using var peer = await RawUplink.JoinAsync(entry.Uplink, join);
            var reject = Assert.Single(await peer.ReadToEndAsync()).Reject;
            Assert.Equal((RejectCode.UnknownSession, TimeSpan.Zero), (reject.Code, reject.RetryAfter));
        }
    }
}
