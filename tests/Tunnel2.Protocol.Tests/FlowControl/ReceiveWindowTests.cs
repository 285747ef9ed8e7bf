using FsCheck.Fluent;
using Tunnel2.Protocol.FlowControl;

namespace Tunnel2.Protocol.Tests.FlowControl;

public sealed class ReceiveWindowTests
{
    private enum Operation
    {
        Receive,
        Consume,
        TakeReturnable,
        Grow,
    }

    [Fact]
    public void Granted_held_and_returnable_bytes_always_sum_up_to_the_size() => Property.Holds(
        from size in Gen.Choose(ProtocolLimits.MinWindow, 1 << 20)
        from operations in Gen.Elements(
            Operation.Receive, Operation.Receive, Operation.Consume, Operation.Consume, Operation.TakeReturnable, Operation.Grow)
            .SelectMany(operation => Gen.Choose(0, 40_000).Select(count => (operation, count))).ArrayOf(200)
        select (size, operations),
        sample =>
        {
            var window = new ReceiveWindow(sample.size);
            var sender = new SendCredit(sample.size);
            var size = sample.size;
            foreach (var (operation, count) in sample.operations)
            {
                var increment = 0;
                switch (operation)
                {
                    case Operation.Receive:
                        Assert.True(window.TryReceive(sender.Take(count)));
                        break;
                    case Operation.Consume:
                        var (before, consumed) = (window.Returnable, Math.Min(count, window.Held));
                        increment = window.Consume(consumed);
                        Assert.Equal(before + consumed >= size / 4 ? before + consumed : 0, increment);
                        break;
                    case Operation.Grow:
                        var returnable = window.Returnable;
                        size += count;
                        increment = window.Grow(count);
                        Assert.Equal((size, returnable + count), (window.Size, increment));
                        break;
                    default:
                        increment = window.TakeReturnable();
                        break;
                }

                Assert.True(increment == 0 || sender.TryAdd(increment));
                Assert.Equal(size, window.Granted + window.Held + window.Returnable);
                Assert.True(window is { Granted: >= 0, Held: >= 0 } && window.Returnable < Math.Max(1, size / 4));
                Assert.Equal(window.Granted, sender.Available);
            }
        });

    [Fact]
    public void The_last_granted_byte_is_taken_and_one_more_is_an_overrun()
    {
        var window = new ReceiveWindow(ProtocolLimits.MinWindow);
        Assert.True(window.TryReceive(ProtocolLimits.MinWindow));
        Assert.True(window.TryReceive(0));
        Assert.False(window.TryReceive(1));
        Assert.Equal(ProtocolLimits.MinWindow, window.Held);
    }

    [Fact]
    public void Credit_returns_when_a_quarter_of_the_window_is_consumed()
    {
        var window = new ReceiveWindow(65_536);
        Assert.True(window.TryReceive(65_536));
        Assert.Equal(0, window.Consume(16_383));
        Assert.Equal(16_383, window.Returnable);
        Assert.Equal(0, window.Granted);
        Assert.Equal(16_384, window.Consume(1));
        Assert.Equal(16_384, window.Granted);
        Assert.Equal(0, window.Returnable);
    }

    [Fact]
    public void A_sender_whose_bytes_were_all_consumed_has_more_than_three_quarters_of_the_window() => Property.Holds(
        Gen.Choose(1, 9_000).ArrayOf(300),
        counts =>
        {
            var window = new ReceiveWindow(ProtocolLimits.MinWindow);
            foreach (var count in counts)
            {
                Assert.True(window.TryReceive(count));
                window.Consume(count);
                Assert.True(window.Granted > ProtocolLimits.MinWindow * 3 / 4);
            }
        });
}
