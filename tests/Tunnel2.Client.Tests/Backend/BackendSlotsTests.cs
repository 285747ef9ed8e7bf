using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendSlotsTests : IDisposable
{
    private static readonly TimeSpan _limit = AsyncCounter.DefaultTimeout;

    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly BackendSlots _slots;
    private readonly BackendPool _first;
    private readonly BackendPool _second;

    public BackendSlotsTests()
    {
        _slots = new BackendSlots(2, _time);
        _first = Pool();
        _second = Pool();
    }

    [Fact]
    public async Task Who_finds_no_slot_waits_in_order()
    {
        Assert.True((await TakeAsync()) is null && (await TakeAsync()) is null);
        var (third, fourth) = (TakeAsync(), TakeAsync());
        Assert.Equal((2, 2), (_slots.Taken, _slots.Waiting));
        Assert.False(third.IsCompleted);
        _slots.Release();
        Assert.Null(await third.WaitAsync(_limit));
        Assert.False(fourth.IsCompleted);
        _slots.Release();
        Assert.Null(await fourth.WaitAsync(_limit));
        _slots.Release();
        _slots.Release();
        Assert.Equal((0, 0), (_slots.Taken, _slots.Waiting));
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
        Assert.Equal(1, _slots.Waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => impatient.WaitAsync(_limit));
        _slots.Release();
        Assert.Null(await patient.WaitAsync(_limit));
        Assert.Equal(2, _slots.Taken);
    }

    [Fact]
    public async Task A_connection_has_its_slot_until_it_is_closed_and_gives_it_back_once()
    {
        await TakeAsync();
        var connection = Connection();
        connection.Dispose();
        connection.Dispose();
        Assert.Equal(0, _slots.Taken);
    }

    [Fact]
    public async Task Idle_connections_of_any_tunnel_make_room()
    {
        await TakeAsync();
        await TakeAsync();
        var idle = Connection();
        _second.Return(idle, ResponseKind.Body);
        Assert.Null(await _slots.TakeAsync(_first, CancellationToken.None).AsTask().WaitAsync(_limit));
        Assert.Equal((2, 0), (_slots.Taken, _slots.Waiting));
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
        Assert.Equal(2, _slots.Taken);
    }

    [Fact]
    public async Task A_connection_that_comes_back_is_closed_for_who_waits_in_another_tunnel()
    {
        await TakeAsync();
        await TakeAsync();
        var waiting = _slots.TakeAsync(_first, CancellationToken.None).AsTask();
        _second.Return(Connection(), ResponseKind.Body);
        Assert.Null(await waiting.WaitAsync(_limit));
        Assert.Equal((2, 0), (_slots.Taken, _second.Idle.Count));
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
    public void A_shortage_is_reported_once_a_second()
    {
        Assert.True(_slots.MayReportShort());
        Assert.False(_slots.MayReportShort());
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_slots.MayReportShort());
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

    private Task<BackendConnection?> TakeAsync() => _slots.TakeAsync(null, CancellationToken.None).AsTask();

    private BackendPool Pool() =>
        new(new BackendConnector(new BackendTarget(false, "127.0.0.1", 1), _buffers, slots: _slots), _time, trustsBackend: true);

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
