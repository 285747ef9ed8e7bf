using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>Every reason and detail of a reset, and the error that the visitor gets for it.</summary>
public sealed class FailureMappingTableTests
{
    private static readonly Dictionary<(StreamResetReason, StreamResetDetail), ProxyError> _special = new()
    {
        [(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused)] = ProxyError.BackendRefused,
        [(StreamResetReason.BackendConnect, StreamResetDetail.NameNotResolved)] = ProxyError.BackendNameNotResolved,
        [(StreamResetReason.BackendConnect, StreamResetDetail.ConnectTimeout)] = ProxyError.BackendConnectTimeout,
        [(StreamResetReason.BackendConnect, StreamResetDetail.TlsFailed)] = ProxyError.BackendTlsFailed,
        [(StreamResetReason.BackendConnect, StreamResetDetail.NotTls)] = ProxyError.BackendNotTls,
        [(StreamResetReason.BackendConnect, StreamResetDetail.TooManyConnections)] = ProxyError.BackendConnectionLimit,
        [(StreamResetReason.BackendConnect, StreamResetDetail.NoDescriptors)] = ProxyError.BackendConnectionLimit,
        [(StreamResetReason.BackendTimeout, StreamResetDetail.Stalled)] = ProxyError.BackendStalled,
        [(StreamResetReason.Refused, StreamResetDetail.Http2Reset)] = ProxyError.BackendBusy,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse)] = ProxyError.BackendClosed,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.WantsCertificate)] = ProxyError.BackendClosed,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody)] = ProxyError.BackendClosed,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.HeadTooLarge)] = ProxyError.BackendHeadTooLarge,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.SpeaksTls)] = ProxyError.BackendSpeaksTls,
        [(StreamResetReason.BackendProtocol, StreamResetDetail.SpeaksHttp2)] = ProxyError.BackendSpeaksHttp2,
    };

    private static readonly Dictionary<StreamResetReason, ProxyError> _usual = new()
    {
        [StreamResetReason.None] = ProxyError.AgentFailed,
        [StreamResetReason.Refused] = ProxyError.AgentRefused,
        [StreamResetReason.Cancel] = ProxyError.AgentFailed,
        [StreamResetReason.BackendConnect] = ProxyError.BackendUnreachable,
        [StreamResetReason.BackendTimeout] = ProxyError.BackendTimeout,
        [StreamResetReason.BackendProtocol] = ProxyError.BackendProtocol,
        [StreamResetReason.Internal] = ProxyError.AgentFailed,
        [StreamResetReason.VisitorProtocol] = ProxyError.BadRequest,
    };

    [Fact]
    public void Every_reset_of_an_agent_has_its_error()
    {
        foreach (var reason in Enum.GetValues<StreamResetReason>())
        {
            foreach (var detail in Enum.GetValues<StreamResetDetail>())
            {
                var expected = _special.TryGetValue((reason, detail), out var special) ? special : _usual[reason];
                Assert.Equal(
                    (reason, detail, expected),
                    (reason, detail, new StreamFailure(StreamFailureKind.PeerReset, reason, detail).ToProxyError()));
            }
        }
    }

    [Fact]
    public void An_unknown_reason_is_the_agents_failure() =>
        Assert.Equal(ProxyError.AgentFailed, new StreamFailure(StreamFailureKind.PeerReset, (StreamResetReason)999).ToProxyError());

    [Fact]
    public void A_visitor_that_takes_nothing_while_memory_is_short_is_said_so() =>
        Assert.Equal(
            ProxyError.VisitorStalled,
            new StreamFailure(StreamFailureKind.LocalReset, StreamResetReason.Cancel, StreamResetDetail.Stalled).ToProxyError());
}
