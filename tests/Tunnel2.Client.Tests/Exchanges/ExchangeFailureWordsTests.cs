using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class ExchangeFailureWordsTests
{
    [Fact]
    public void Every_reset_has_a_leg_and_words()
    {
        foreach (StreamResetReason reason in Enum.GetValues<StreamResetReason>())
        {
            foreach (StreamResetDetail detail in Enum.GetValues<StreamResetDetail>())
            {
                (string leg, string error) = ExchangeFailureWords.For(reason, detail);
                Assert.Contains(leg, new[] { "visitor", "uplink", "agent", "backend" });
                Assert.NotEmpty(error);
            }
        }

        Assert.Null(ExchangeFailureWords.For(default(StreamFailure)));
    }
}
