using Tunnel2.ProxyEntry.Diagnostics.Prometheus;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

public sealed class PrometheusNameTests
{
    [Theory]
    [InlineData("http.server.request.duration", "s", nameof(PrometheusType.Histogram), "http_server_request_duration_seconds")]
    [InlineData("tunnel2.requests", "{request}", nameof(PrometheusType.Counter), "tunnel2_requests_total")]
    [InlineData("tunnel2.requests.total", "{request}", nameof(PrometheusType.Counter), "tunnel2_requests_total")]
    [InlineData("tunnel2.sent", "By", nameof(PrometheusType.Counter), "tunnel2_sent_bytes_total")]
    [InlineData("tunnel2.sent.bytes", "By", nameof(PrometheusType.Counter), "tunnel2_sent_bytes_total")]
    [InlineData("cpu.utilization", "1", nameof(PrometheusType.Gauge), "cpu_utilization_ratio")]
    [InlineData("retries", "1", nameof(PrometheusType.Counter), "retries_total")]
    [InlineData("speed", "By/s", nameof(PrometheusType.Gauge), "speed_bytes_per_second")]
    [InlineData("rate", "{request}/s", nameof(PrometheusType.Gauge), "rate_per_second")]
    [InlineData("load", "%", nameof(PrometheusType.Gauge), "load_percent")]
    [InlineData("odd", "{packet}", nameof(PrometheusType.Gauge), "odd")]
    [InlineData("a..b--c d", null, nameof(PrometheusType.Gauge), "a_b_c_d")]
    [InlineData("2nd.try", "", nameof(PrometheusType.Gauge), "_2nd_try")]
    [InlineData("über", null, nameof(PrometheusType.Gauge), "_ber")]
    public void Names_and_units_are_converted(string name, string? unit, string type, string expected)
    {
        Assert.Equal(expected, PrometheusName.ForMetric(name, unit, Enum.Parse<PrometheusType>(type)));
    }

    [Theory]
    [InlineData("error.type", "error_type")]
    [InlineData("a:b", "a_b")]
    [InlineData("1st", "_1st")]
    [InlineData("", "_")]
    public void Label_names_are_converted(string name, string expected)
    {
        Assert.Equal(expected, PrometheusName.ForLabel(name));
    }
}
