using System.Net;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class HandshakeTurnsTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    private readonly ManualResetEventSlim _gate = new();
    private readonly HandshakeTurns _turns = new(1, new ContainedFaults());
    private readonly List<string> _served = [];

    public void Dispose()
    {
        _gate.Set();
        _gate.Dispose();
    }

    [Fact]
    public async Task Addresses_take_turns_and_each_keeps_its_order()
    {
        var held = await HoldAsync();
        var all = Enumerable.Range(0, 1000).Select(i => ServeAsync("192.0.2.1", $"flood {i}")).ToList();
        all.Add(ServeAsync("192.0.2.2", "first"));
        all.Add(ServeAsync("192.0.2.2", "second"));
        all.Add(ServeAsync("2001:db8:1:2::1", "third"));
        all.Add(ServeAsync("2001:db8:1:2:ffff::2", "fourth"));
        Assert.Equal(1004, _turns.Waiting);
        Assert.Empty(_served);

        _gate.Set();
        await Task.WhenAll([held, .. all]).WaitAsync(_limit);
        Assert.Equal(["flood 0", "first", "third", "flood 1", "second", "fourth", "flood 2", "flood 3"], _served.Take(8));
        Assert.Equal(1004, _served.Count);
        Assert.Equal("flood 999", _served[^1]);
        Assert.Equal(0, _turns.Waiting);
    }

    [Fact]
    public async Task A_turn_ends_where_its_work_waits()
    {
        var network = new TaskCompletionSource();
        var slow = WaitForNetworkAsync();
        await ServeAsync("192.0.2.1", "next").WaitAsync(_limit);
        Assert.False(slow.IsCompleted);
        network.SetResult();
        await slow.WaitAsync(_limit);

        async Task WaitForNetworkAsync()
        {
            await _turns.Next(IPAddress.Parse("192.0.2.1"));
            await network.Task.ConfigureAwait(false);
        }
    }

    [Fact]
    public async Task After_the_last_turn_the_next_one_begins_anew()
    {
        for (var i = 0; i < 1000; i++)
        {
            await ServeAsync("192.0.2.1", "again").WaitAsync(_limit);
        }

        Assert.Equal(1000, _served.Count);
    }

    private async Task<Task> HoldAsync()
    {
        var held = WaitAsync();
        await WaitSignal.UntilAsync(() => _turns.Waiting == 0, "the only turn is taken");
        return held;

        async Task WaitAsync()
        {
            await _turns.Next(IPAddress.Loopback);
            _gate.Wait(_limit);
        }
    }

    private async Task ServeAsync(string address, string name)
    {
        await _turns.Next(IPAddress.Parse(address));
        _served.Add(name);
    }
}
