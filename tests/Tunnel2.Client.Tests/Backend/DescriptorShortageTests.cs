using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>The process has descriptors for fewer connections than it may have.</summary>
public sealed class DescriptorShortageTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly BackendSlots _all;
    private readonly TunnelSlots _slots;
    private readonly BackendConnector _connector;
    private readonly List<StreamResetDetail> _reported = [];
    private int _descriptors;

    public DescriptorShortageTests()
    {
        _all = new BackendSlots(10, _time);
        _slots = _all.AddTunnel();
        _connector = new BackendConnector(new BackendTarget(false, "127.0.0.1", 80), new BufferPool(), slots: _slots, timeProvider: _time)
        {
            Dial = (_, _) => new(--_descriptors >= 0
                ? (new FakeBackendTransport(), SocketError.Success)
                : (null, SocketError.TooManyOpenSockets)),
            OnShortage = _reported.Add,
        };
    }

    public void Dispose() => _slots.Dispose();

    [Fact]
    public async Task A_request_waits_for_a_connection_that_there_is()
    {
        _descriptors = 2;
        var first = await ConnectedAsync();
        await ConnectedAsync();
        var (third, fourth) = (ConnectAsync(), ConnectAsync());
        Assert.False(third.IsCompleted);
        Assert.Equal((2, 2, 2), (_all.Taken, _all.Room, _all.Waiting));
        Assert.Equal([StreamResetDetail.NoDescriptors, StreamResetDetail.TooManyConnections], _reported);

        _descriptors = 1;
        first.Dispose();
        Assert.NotNull((await third).Connection);
        Assert.Equal(StreamResetDetail.NoDescriptors, await EndAsync(fourth));
        Assert.Equal(2, _reported.Count);
        Assert.Equal(2, _all.Taken);
    }

    [Fact]
    public async Task Without_another_connection_there_is_nothing_to_wait_for()
    {
        _descriptors = 0;
        var (connection, failure) = await ConnectAsync();
        Assert.Null(connection);
        Assert.Equal(BackendFailure.Connect(StreamResetDetail.NoDescriptors), failure);
        Assert.Equal((0, 10), (_all.Taken, _all.Room));
    }

    [Fact]
    public async Task Each_second_one_more_is_tried_and_where_there_are_descriptors_again_all()
    {
        _descriptors = 1;
        await ConnectedAsync();
        Task<(BackendConnection? Connection, BackendFailure Failure)>[] waiting = [ConnectAsync(), ConnectAsync(), ConnectAsync()];
        var tried = _descriptors;
        _time.Advance(TimeSpan.FromSeconds(1));
        await WaitSignal.UntilAsync(() => _descriptors < tried && _all.Waiting == 3, "one more was tried");
        Assert.Equal((tried - 1, 1), (_descriptors, _all.Taken));

        _descriptors = 100;
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.All(await Task.WhenAll(waiting), static one => Assert.NotNull(one.Connection));
        _time.Advance(TimeSpan.FromSeconds(1));
        await WaitSignal.UntilAsync(() => _all.Room == 10, "the limit is the only one again");
    }

    private Task<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync() =>
        _connector.ConnectAsync(null, CancellationToken.None).AsTask();

    private async Task<BackendConnection> ConnectedAsync() =>
        (await ConnectAsync()).Connection ?? throw new InvalidOperationException("There was a descriptor.");

    /// <summary>The time that a connect may take passes.</summary>
    private async Task<StreamResetDetail> EndAsync(Task<(BackendConnection? Connection, BackendFailure Failure)> connecting)
    {
        _time.Advance(BackendConnector.DefaultTimeout);
        return (await connecting).Failure.Detail;
    }
}
