using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Ways;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Ways;

public sealed class AddressRaceTests
{
    private static readonly IPAddress _six = IPAddress.Parse("2001:db8::1");
    private static readonly IPAddress _six2 = IPAddress.Parse("2001:db8::2");
    private static readonly IPAddress _four = IPAddress.Parse("192.0.2.1");
    private static readonly IPAddress _four2 = IPAddress.Parse("192.0.2.2");

    private readonly ManualTimeProvider _time = new();
    private readonly ConcurrentDictionary<IPAddress, TaskCompletionSource<Connection>> _attempts = new();
    private readonly AsyncCounter _begun = new("attempts");

    [Fact]
    public void Families_take_turns_and_there_is_an_end()
    {
        Assert.Equal([_six, _four, _six2, _four2], AddressRace.Order([_four, _four2, _six, _six, _six2]));
        Assert.Equal([_four, _four2], AddressRace.Order([_four, _four2]));
        var many = Enumerable.Range(0, 500).Select(i => new IPAddress([10, 0, (byte)(i >> 8), (byte)i]));
        Assert.Equal(AddressRace.MostAddresses, AddressRace.Order(many).Count);
        Assert.Empty(AddressRace.Order([]));
    }

    [Fact]
    public async Task A_silent_address_holds_up_the_next_for_a_quarter_of_a_second_and_its_late_connection_is_closed()
    {
        var race = Race([_six, _four]);
        await _begun.WaitForAsync(1);
        _time.Advance(TimeSpan.FromMilliseconds(249));
        Assert.Equal(1, _begun.Value);
        _time.Advance(TimeSpan.FromMilliseconds(1));
        await _begun.WaitForAsync(2);
        var won = new Connection();
        _attempts[_four].SetResult(won);
        Assert.Equal((won, _four), await race);
        var late = new Connection();
        _attempts[_six].SetResult(late);
        await late.Closed.Task;
        Assert.False(won.Closed.Task.IsCompleted);
    }

    [Fact]
    public async Task A_refused_address_gives_way_at_once()
    {
        var race = Race([_six, _four, _four2]);
        await _begun.WaitForAsync(1);
        _attempts[_six].SetException(new SocketException((int)SocketError.ConnectionRefused));
        await _begun.WaitForAsync(2);
        _attempts[_four].SetException(new SocketException((int)SocketError.ConnectionRefused));
        await _begun.WaitForAsync(3);
        var won = new Connection();
        _attempts[_four2].SetResult(won);
        Assert.Equal((won, _four2), await race);
    }

    [Fact]
    public async Task The_first_address_may_still_win()
    {
        var race = Race([_six, _four]);
        await _begun.WaitForAsync(1);
        _time.Advance(TimeSpan.FromMilliseconds(250));
        await _begun.WaitForAsync(2);
        var won = new Connection();
        _attempts[_six].SetResult(won);
        Assert.Equal((won, _six), await race);
    }

    [Theory]
    [InlineData(SocketError.NetworkUnreachable, SocketError.ConnectionRefused, SocketError.ConnectionRefused)]
    [InlineData(SocketError.ConnectionRefused, SocketError.NetworkUnreachable, SocketError.ConnectionRefused)]
    [InlineData(SocketError.ConnectionRefused, SocketError.TimedOut, SocketError.TimedOut)]
    [InlineData(SocketError.HostUnreachable, SocketError.NetworkUnreachable, SocketError.NetworkUnreachable)]
    public async Task When_none_connects_the_most_telling_error_counts(SocketError six, SocketError four, SocketError expected)
    {
        var race = Race([_six, _four]);
        await _begun.WaitForAsync(1);
        _attempts[_six].SetException(new SocketException((int)six));
        await _begun.WaitForAsync(2);
        _attempts[_four].SetException(new SocketException((int)four));
        Assert.Equal(expected, (await Assert.ThrowsAsync<SocketException>(() => race)).SocketErrorCode);
    }

    [Fact]
    public async Task Without_an_address_there_is_none_to_connect_to() =>
        Assert.Equal(SocketError.HostNotFound, (await Assert.ThrowsAsync<SocketException>(() => Race([]))).SocketErrorCode);

    [Fact]
    public async Task Who_gives_up_leaves_no_attempt_behind()
    {
        using var stop = new CancellationTokenSource();
        var race = Race([_six, _four], stop.Token);
        await _begun.WaitForAsync(1);
        _time.Advance(TimeSpan.FromMilliseconds(250));
        await _begun.WaitForAsync(2);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => race);
        var late = new Connection();
        Assert.True(_attempts.Values.All(attempt => attempt.Task.IsCanceled || attempt.TrySetResult(late)));
    }

    private Task<(Connection Connection, IPAddress Address)> Race(IReadOnlyList<IPAddress> addresses, CancellationToken stop = default) =>
        AddressRace.RunAsync(
            addresses,
            (address, over) =>
            {
                var attempt = new TaskCompletionSource<Connection>(TaskCreationOptions.RunContinuationsAsynchronously);
                if (stop.CanBeCanceled)
                {
                    over.Register(() => attempt.TrySetCanceled(over));
                }

                _attempts[address] = attempt;
                _begun.Increment();
                return attempt.Task;
            },
            _time,
            stop);

    private sealed class Connection : IAsyncDisposable
    {
        public TaskCompletionSource Closed { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public ValueTask DisposeAsync()
        {
            Closed.TrySetResult();
            return default;
        }
    }
}
