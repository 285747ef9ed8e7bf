using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class StripedMessageStoreTests
{
    [Theory]
    [InlineData(-1)]
    [InlineData(3)]
    [InlineData(512)]
    public void A_number_of_stripes_that_is_no_power_of_two_up_to_256_is_refused(int stripes) =>
        Assert.Throws<ArgumentOutOfRangeException>(() => new StripedMessageStore<int>(stripes: stripes));
}
