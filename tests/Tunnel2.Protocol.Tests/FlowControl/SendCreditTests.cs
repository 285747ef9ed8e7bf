using FsCheck.Fluent;
using Tunnel2.Protocol.FlowControl;

namespace Tunnel2.Protocol.Tests.FlowControl;

public sealed class SendCreditTests
{
    [Fact]
    public void Credit_behaves_as_a_bounded_counter() => Property.Holds(
        from initial in Gen.Choose(0, int.MaxValue)
        from operations in Gen.Choose(int.MinValue + 1, int.MaxValue).ArrayOf(100)
        select (initial, operations),
        sample =>
        {
            var credit = new SendCredit(sample.initial);
            long model = sample.initial;
            foreach (var operation in sample.operations)
            {
                if (operation > 0)
                {
                    var fits = model + operation <= int.MaxValue;
                    Assert.Equal(fits, credit.TryAdd(operation));
                    model += fits ? operation : 0;
                }
                else
                {
                    var taken = credit.Take(-operation);
                    Assert.Equal(Math.Min(-operation, model), taken);
                    model -= taken;
                }

                Assert.Equal(model, credit.Available);
            }
        });

    [Fact]
    public void Credit_may_reach_its_bound_and_not_one_byte_more()
    {
        var credit = new SendCredit(1);
        Assert.True(credit.TryAdd(int.MaxValue - 1));
        Assert.Equal(ProtocolLimits.MaxCredit, credit.Available);
        Assert.False(credit.TryAdd(1));
        Assert.False(credit.TryAdd(int.MaxValue));
        Assert.Equal(ProtocolLimits.MaxCredit, credit.Available);
        Assert.Equal(int.MaxValue, credit.Take(int.MaxValue));
        Assert.Equal(0, credit.Take(1));
    }
}
