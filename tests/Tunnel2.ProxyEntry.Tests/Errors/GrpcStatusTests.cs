using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Tests.Errors;

public sealed class GrpcStatusTests
{
    [Theory]
    [InlineData(nameof(ProxyError.BackendRefused), "14", "backend: The service refused the connection (backend-refused)")]
    [InlineData(nameof(ProxyError.AgentOffline), "14", "uplink: The agent is offline (agent-offline)")]
    [InlineData(nameof(ProxyError.UnknownName), "14", "entry: No tunnel with this name (unknown-name)")]
    [InlineData(nameof(ProxyError.BackendTimeout), "14", "backend: The service took too long to answer (backend-timeout)")]
    [InlineData(nameof(ProxyError.RateLimit), "14", "entry: Too many requests (rate-limit)")]
    [InlineData(nameof(ProxyError.LoginRequired), "16", "entry: Login required (login-required)")]
    [InlineData(nameof(ProxyError.AddressNotAllowed), "7", "entry: Not from this address (address-not-allowed)")]
    [InlineData(nameof(ProxyError.TooManyLogins), "14", "entry: Too many logins (too-many-logins)")]
    [InlineData(nameof(ProxyError.BadRequest), "13", "visitor: Bad request (bad-request)")]
    [InlineData(nameof(ProxyError.RequestHeadTooLarge), "8", "visitor: Request headers too large (request-head-too-large)")]
    [InlineData(nameof(ProxyError.MethodNotSupported), "12", "visitor: Method not supported (method-not-supported)")]
    public void An_error_is_a_status_with_the_leg_in_its_message(string error, string status, string message)
    {
        var response = ErrorResponses.Get(Enum.Parse<ProxyError>(error), ErrorBodyFormat.Grpc);
        var fields = response.Headers.ToDictionary(StringComparer.OrdinalIgnoreCase);
        Assert.Equal((200, true), (response.Status, response.Body.IsEmpty));
        Assert.Equal((status, message), (fields["grpc-status"], fields["grpc-message"]));
        Assert.Equal("application/grpc", fields["content-type"]);
    }

    /// <summary>Of a head that is too large not all was read: it may be one of gRPC.</summary>
    [Fact]
    public void Only_an_answer_to_a_head_that_is_too_large_has_the_status_in_every_form() => Assert.All(
        ProxyErrorCatalog.All,
        static info => Assert.All(
            [ErrorBodyFormat.Html, ErrorBodyFormat.ProblemJson],
            format => Assert.Equal(
                info.Error == ProxyError.RequestHeadTooLarge ? "8" : null,
                ErrorResponses.Get(info.Error, format).Headers.SingleOrDefault(static field => field.Key == "Grpc-Status").Value)));

    [Fact]
    public void Every_error_has_a_message_that_needs_no_escapes() => Assert.All(
        ProxyErrorCatalog.All,
        static info => Assert.All(GrpcStatus.MessageOf(info), static sign => Assert.True(sign is >= ' ' and <= '~' and not '%')));
}
