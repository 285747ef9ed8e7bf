using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

public sealed class FailureMappingTests
{
    [Fact]
    public void A_lost_uplink_is_that_also_after_another_reason() =>
        Assert.Equal(
            ProxyError.UplinkLost, new StreamFailure(StreamFailureKind.UplinkLost, StreamResetReason.BackendTimeout).ToProxyError());

    [Theory]
    [InlineData(StreamResetReason.VisitorProtocol, nameof(ProxyError.BadRequest))]
    [InlineData(StreamResetReason.BackendProtocol, nameof(ProxyError.Internal))]
    [InlineData(StreamResetReason.Cancel, nameof(ProxyError.Internal))]
    public void What_we_reset_ourselves_is_reported_by_our_reason(StreamResetReason reason, string expected) =>
        Assert.Equal(expected, new StreamFailure(StreamFailureKind.LocalReset, reason).ToProxyError().ToString());

    [Fact]
    public void Every_reason_of_a_peer_has_an_answer_that_is_not_ours_to_blame()
    {
        foreach (var reason in Enum.GetValues<StreamResetReason>())
        {
            foreach (var detail in Enum.GetValues<StreamResetDetail>())
            {
                var error = new StreamFailure(StreamFailureKind.PeerReset, reason, detail).ToProxyError();
                Assert.NotEqual(ProxyError.Internal, error);
                var info = ProxyErrorCatalog.Get(error);
                Assert.Equal(reason == StreamResetReason.VisitorProtocol, info.IsVisitorsFault);
                if (reason == StreamResetReason.BackendConnect
                    && detail is StreamResetDetail.TooManyConnections or StreamResetDetail.NoDescriptors)
                {
                    // It was the agent that could not try.
                    Assert.Equal(ProxyErrorLeg.Uplink, info.Leg);
                    continue;
                }

                if (reason == StreamResetReason.Refused && detail.Http2Code() is not null)
                {
                    // It was the service that refused.
                    Assert.Equal(ProxyErrorLeg.Backend, info.Leg);
                    continue;
                }

                Assert.Equal(
                    reason is StreamResetReason.BackendConnect or StreamResetReason.BackendProtocol or StreamResetReason.BackendTimeout,
                    info.Leg == ProxyErrorLeg.Backend);
            }
        }
    }
}
