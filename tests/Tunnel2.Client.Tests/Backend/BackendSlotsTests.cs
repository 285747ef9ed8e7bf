using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendSlotsTests : IDisposable
{
    private static readonly TimeSpan _limit = AsyncCounter.DefaultTimeout;

    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly BackendSlots _all;
    private readonly TunnelSlots _slots;
    private readonly BackendPool _first;
    private readonly BackendPool _second;

    public BackendSlotsTests()
    {
        _all = new BackendSlots(2, _time);
        _slots = _all.AddTunnel();
        _first = Pool();
        _second = Pool();
    }

    [Fact]
    public async Task Who_finds_no_slot_waits_in_order()
    {
        Assert.True((await TakeAsync()) is null && (await TakeAsync()) is null);
        var (third, fourth) = (TakeAsync(), TakeAsync());
        Assert.Equal((2, 2), (_all.Taken, _all.Waiting));
        Assert.False(third.IsCompleted);
        _slots.Release();
        Assert.Null(await third.WaitAsync(_limit));
        Assert.False(fourth.IsCompleted);
        _slots.Release();
        Assert.Null(await fourth.WaitAsync(_limit));
        _slots.Release();
        _slots.Release();
        Assert.Equal((0, 0), (_all.Taken, _all.Waiting));
    }

    [Fact]
    public async Task Who_gives_up_leaves_the_queue_at_once()
    {
        await TakeAsync();
        await TakeAsync();
        using var cancelled = new CancellationTokenSource();
        var impatient = _slots.TakeAsync(null, cancelled.Token).AsTask();
        var patient = TakeAsync();
        await cancelled.CancelAsync();
        Assert.Equal(1, _all.Waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => impatient.WaitAsync(_limit));
        _slots.Release();
        Assert.Null(await patient.WaitAsync(_limit));
        Assert.Equal(2, _all.Taken);
    }

    [Fact]
    public async Task A_connection_has_its_slot_until_it_is_closed_and_gives_it_back_once()
    {
        await TakeAsync();
        var connection = Connection();
        connection.Dispose();
        connection.Dispose();
        Assert.Equal(0, _all.Taken);
    }

    [Fact]
    public async Task Idle_connections_of_any_tunnel_make_room()
    {
        await TakeAsync();
        await TakeAsync();
        var idle = Connection();
        _second.Return(idle, ResponseKind.Body);
        Assert.Null(await _slots.TakeAsync(_first, CancellationToken.None).AsTask().WaitAsync(_limit));
        Assert.Equal((2, 0), (_all.Taken, _all.Waiting));
        Assert.Equal(0, _second.Idle.Count);
    }

    [Fact]
    public async Task A_connection_that_comes_back_goes_to_who_waits_longest_in_its_tunnel()
    {
        await TakeAsync();
        await TakeAsync();
        var waiting = _slots.TakeAsync(_first, CancellationToken.None).AsTask();
        var connection = Connection();
        _first.Return(connection, ResponseKind.Body);
        Assert.Same(connection, await waiting.WaitAsync(_limit));
        Assert.True(connection.IsReused);
        Assert.Equal(2, _all.Taken);
    }

    [Fact]
    public async Task A_connection_that_comes_back_is_closed_for_who_waits_in_another_tunnel()
    {
        await TakeAsync();
        await TakeAsync();
        var waiting = _slots.TakeAsync(_first, CancellationToken.None).AsTask();
        _second.Return(Connection(), ResponseKind.Body);
        Assert.Null(await waiting.WaitAsync(_limit));
        Assert.Equal((2, 0), (_all.Taken, _second.Idle.Count));
    }

    [Fact]
    public async Task A_holder_gives_way_to_others_after_the_pools_and_never_to_itself()
    {
        var (one, two) = (new Holder(), new Holder());
        _slots.Add(one);
        _slots.Add(two);
        await TakeAsync();
        await TakeAsync();
        var own = _slots.TakeAsync(null, CancellationToken.None, one).AsTask();
        Assert.Equal((0, 1), (one.Asked, two.Asked));
        Assert.False(_slots.HasOthersWaiting(one));
        Assert.True(_slots.HasOthersWaiting(two));
        var other = TakeAsync();
        Assert.Equal((1, 1), (one.Asked, two.Asked));
        Assert.True(_slots.HasOthersWaiting(one));
        _slots.Release();
        _slots.Release();
        await Task.WhenAll(own, other).WaitAsync(_limit);
        Assert.False(_slots.HasOthersWaiting(one));

        _second.Return(Connection(), ResponseKind.Body);
        Assert.Null(await TakeAsync().WaitAsync(_limit));
        Assert.Equal((1, 1), (one.Asked, two.Asked));
        _slots.Remove(one);
        _ = TakeAsync();
        Assert.Equal((1, 2), (one.Asked, two.Asked));
    }

    [Fact]
    public void A_tunnel_that_takes_all_it_can_leaves_the_others_their_share()
    {
        var all = new BackendSlots(16, _time);
        using var greedy = all.AddTunnel();
        using var other = all.AddTunnel();
        _ = Enumerable.Range(0, 100).Select(_ => TakeAsync(greedy)).ToList();
        Assert.Equal((12, 88), (all.Taken, all.Waiting));
        Assert.False(greedy.HasRoom);

        // Its share is there at once, and no request of the flood gets what comes back of it.
        for (var i = 0; i < 3; i++)
        {
            Assert.True(other.HasRoom);
            Assert.All(Enumerable.Range(0, 4).Select(_ => TakeAsync(other)), static request => Assert.True(request.IsCompleted));
            Assert.Equal(16, all.Taken);
            for (var slot = 0; slot < 4; slot++)
            {
                other.Release();
            }
        }

        Assert.Equal((12, 88), (all.Taken, all.Waiting));
        greedy.Release();
        Assert.Equal((12, 87), (all.Taken, all.Waiting));
    }

    [Fact]
    public async Task Beyond_the_shares_the_longest_wait_of_all_tunnels_is_served_first()
    {
        var all = new BackendSlots(8, _time);
        using var one = all.AddTunnel();
        using var two = all.AddTunnel();
        for (var i = 0; i < 4; i++)
        {
            await Task.WhenAll(TakeAsync(one), TakeAsync(two)).WaitAsync(_limit);
        }

        var (first, second, third) = (TakeAsync(two), TakeAsync(one), TakeAsync(two));
        one.Release();
        await first.WaitAsync(_limit);
        Assert.False(second.IsCompleted);
        two.Release();
        await second.WaitAsync(_limit);
        two.Release();
        await third.WaitAsync(_limit);
        Assert.Equal((8, 0), (all.Taken, all.Waiting));
    }

    [Fact]
    public async Task A_tunnel_that_ends_leaves_its_share_to_those_who_wait()
    {
        var all = new BackendSlots(8, _time);
        using var one = all.AddTunnel();
        var two = all.AddTunnel();
        var flood = Enumerable.Range(0, 9).Select(_ => TakeAsync(one)).ToList();
        Assert.Equal(6, all.Taken);
        two.Dispose();
        await Task.WhenAll(flood[..8]).WaitAsync(_limit);
        Assert.False(flood[8].IsCompleted);
    }

    [Fact]
    public async Task What_waits_in_a_tunnel_beyond_its_share_costs_another_no_kept_connection()
    {
        var all = new BackendSlots(8, _time);
        using var greedy = all.AddTunnel();
        using var other = all.AddTunnel();
        using var pool = Pool(other);
        _ = Enumerable.Range(0, 20).Select(_ => TakeAsync(greedy)).ToList();
        await TakeAsync(other).WaitAsync(_limit);
        Assert.False(other.IsWanted);
        pool.Return(new BackendConnection(new FakeBackendTransport(), _buffers, other), ResponseKind.Body);
        _ = TakeAsync(greedy);
        Assert.Equal((7, 15, 1), (all.Taken, all.Waiting, pool.Idle.Count));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Random_takes_and_releases_of_many_tunnels_keep_the_limit_the_shares_and_their_order(int seed)
    {
        var random = new Random(seed);
        var all = new BackendSlots(random.Next(8, 60), _time);
        var tunnels = Enumerable.Range(0, random.Next(2, 5)).Select(_ => all.AddTunnel()).ToList();
        var share = all.Limit / (2 * tunnels.Count);
        var requests = new List<Task>();
        for (var step = 0; step < 5_000; step++)
        {
            var tunnel = tunnels[random.Next(tunnels.Count)];
            if (tunnel.Held == 0 || random.Next(2) == 0)
            {
                var hasShare = tunnel.Held < share;
                requests.Add(TakeAsync(tunnel));
                Assert.True(requests[^1].IsCompleted || !hasShare, $"seed {seed}, step {step}: a share was not left");
            }
            else
            {
                tunnel.Release();
            }

            Assert.True(all.Taken <= all.Limit && all.Taken == tunnels.Sum(static one => one.Held), $"seed {seed}, step {step}");
            Assert.All(tunnels.Where(static one => one.OldestUnsynchronized is not null), waits => Assert.True(
                all.Limit - all.Taken <= tunnels.Where(one => one != waits).Sum(one => Math.Max(0, share - one.Held)),
                $"seed {seed}, step {step}: a request waits for a slot that is free"));
        }

        while (tunnels.Find(static one => one.Held > 0) is { } left)
        {
            left.Release();
        }

        await Task.WhenAll(requests).WaitAsync(_limit);
        Assert.Equal((0, 0), (all.Taken, all.Waiting));
    }

    [Fact]
    public void A_shortage_is_reported_once_a_second()
    {
        Assert.True(_all.MayReportShort(StreamResetDetail.TooManyConnections));
        Assert.False(_all.MayReportShort(StreamResetDetail.TooManyConnections));
        Assert.True(_all.MayReportShort(StreamResetDetail.NoDescriptors));
        Assert.False(_all.MayReportShort(StreamResetDetail.NoDescriptors));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_all.MayReportShort(StreamResetDetail.TooManyConnections));
        Assert.True(_all.MayReportShort(StreamResetDetail.NoDescriptors));
    }

    [Theory]
    [InlineData("Max open files            100                  100                  files", 3, 65)]
    [InlineData("Max open files            16000                16000                files", 0, 15_000)]
    [InlineData("Max open files            20                   20                   files", 3, 1)]
    [InlineData("Max open files            unlimited            unlimited            files", 3, int.MaxValue)]
    [InlineData("", 3, int.MaxValue)]
    public void What_the_limit_of_open_files_leaves_is_for_backends(string line, int open, int left)
    {
        var root = Directory.CreateTempSubdirectory("tunnel2-");
        try
        {
            var files = Directory.CreateDirectory(Path.Combine(root.FullName, "proc/self/fd"));
            File.WriteAllText(
                Path.Combine(root.FullName, "proc/self/limits"),
                $"Limit                     Soft Limit           Hard Limit           Units\n{line}\n");
            for (var i = 0; i < open; i++)
            {
                File.WriteAllText(Path.Combine(files.FullName, $"{i}"), "");
            }

            Assert.Equal(left, FilesForBackends.Left(root: root.FullName));
        }
        finally
        {
            root.Delete(recursive: true);
        }
    }

    public void Dispose()
    {
        _first.Dispose();
        _second.Dispose();
    }

    private Task<BackendConnection?> TakeAsync(TunnelSlots? tunnel = null) =>
        (tunnel ?? _slots).TakeAsync(null, CancellationToken.None).AsTask();

    private BackendPool Pool(TunnelSlots? tunnel = null) =>
        new(new BackendConnector(new BackendTarget(false, "127.0.0.1", 1), _buffers, slots: tunnel ?? _slots), _time, trustsBackend: true);

    private BackendConnection Connection() => new(new FakeBackendTransport(), _buffers, _slots);

    private sealed class Holder : ISlotHolder
    {
        public int Asked { get; private set; }

        public bool TryGiveWay()
        {
            Asked++;
            return true;
        }
    }
}
