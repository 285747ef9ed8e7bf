using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Tests.Errors;

public sealed partial class ProxyErrorCatalogTests
{
    // RFC 9209 section 2.3, the error types that a proxy can have met.
    private static readonly string[] _registeredTypes =
    [
        "dns_timeout", "dns_error", "destination_not_found", "destination_unavailable", "destination_ip_prohibited",
        "destination_ip_unroutable", "connection_refused", "connection_terminated", "connection_timeout", "connection_read_timeout",
        "connection_write_timeout", "connection_limit_reached", "tls_protocol_error", "tls_certificate_error", "tls_alert_received",
        "http_request_error", "http_request_denied", "http_response_incomplete", "http_response_header_section_size",
        "http_response_header_size", "http_response_body_size", "http_response_trailer_section_size", "http_response_trailer_size",
        "http_response_transfer_coding", "http_response_content_coding", "http_response_timeout", "http_upgrade_failed",
        "http_protocol_error", "proxy_internal_response", "proxy_internal_error", "proxy_configuration_error", "proxy_loop_detected",
    ];

    public static TheoryData<string> AllErrors => [.. Enum.GetNames<ProxyError>()];

    [Fact]
    public void The_table_has_one_row_per_error_in_the_order_of_the_enum()
    {
        Assert.Equal(Enum.GetValues<ProxyError>(), ProxyErrorCatalog.All.Select(info => info.Error));
    }

    [Fact]
    public void Codes_are_unique()
    {
        Assert.Equal(ProxyErrorCatalog.All.Count, ProxyErrorCatalog.All.Select(info => info.Code).Distinct().Count());
    }

    [Theory]
    [MemberData(nameof(AllErrors))]
    public void Every_row_keeps_the_rules_of_its_columns(string name)
    {
        var info = ProxyErrorCatalog.Get(Enum.Parse<ProxyError>(name));

        Assert.InRange(info.Status, 400, 599);
        Assert.Matches(KebabCase(), info.Code);
        Assert.Contains(info.ProxyStatusType, _registeredTypes);
        Assert.Matches(PlainText(), info.Title);
        Assert.Matches(PlainText(), info.Detail);
        Assert.EndsWith(".", info.Detail, StringComparison.Ordinal);
        Assert.Equal(info.Status is 503 or 429, info.RetryAfterSeconds is not null);
        if (info.Leg == ProxyErrorLeg.Visitor)
        {
            Assert.True(info.IsVisitorsFault);
        }
    }

    // The contract of status codes that people build on.
    [Theory]
    [InlineData(nameof(ProxyError.BadRequest), 400, "bad-request", "http_request_error")]
    [InlineData(nameof(ProxyError.UnknownName), 404, "unknown-name", "destination_not_found")]
    [InlineData(nameof(ProxyError.AgentOffline), 503, "agent-offline", "destination_unavailable")]
    [InlineData(nameof(ProxyError.UplinkLost), 502, "uplink-lost", "connection_terminated")]
    [InlineData(nameof(ProxyError.BackendRefused), 502, "backend-refused", "connection_refused")]
    [InlineData(nameof(ProxyError.BackendConnectTimeout), 504, "backend-connect-timeout", "connection_timeout")]
    [InlineData(nameof(ProxyError.BackendProtocol), 502, "backend-protocol", "http_protocol_error")]
    [InlineData(nameof(ProxyError.BackendTimeout), 504, "backend-timeout", "http_response_timeout")]
    [InlineData(nameof(ProxyError.RateLimit), 429, "rate-limit", "http_request_denied")]
    [InlineData(nameof(ProxyError.BackendConnectionLimit), 503, "backend-connection-limit", "connection_limit_reached")]
    [InlineData(nameof(ProxyError.StreamLimit), 503, "stream-limit", "connection_limit_reached")]
    public void The_promised_codes_stay(string name, int status, string code, string type)
    {
        var info = ProxyErrorCatalog.Get(Enum.Parse<ProxyError>(name));

        Assert.Equal((status, code, type), (info.Status, info.Code, info.ProxyStatusType));
        Assert.Equal($"Tunnel2; error={type}; details=\"{info.Title}\"", info.ProxyStatus);
    }

    [GeneratedRegex("^[a-z]+(-[a-z0-9]+)*$")]
    private static partial Regex KebabCase();

    // Fit for HTML, JSON and a quoted header value without escapes.
    [GeneratedRegex("^[A-Z][a-zA-Z0-9 ,.:;-]*$")]
    private static partial Regex PlainText();
}
