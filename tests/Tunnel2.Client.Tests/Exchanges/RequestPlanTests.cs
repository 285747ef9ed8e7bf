using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Http1;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class RequestPlanTests
{
    [Theory]
    [InlineData("GET", null, true, nameof(RequestFraming.None), 0)]
    [InlineData("POST", null, true, nameof(RequestFraming.None), 0)]
    [InlineData("POST", null, false, nameof(RequestFraming.Chunked), 0)]
    [InlineData("GET", null, false, nameof(RequestFraming.Chunked), 0)]
    [InlineData("POST", "5", false, nameof(RequestFraming.Length), 5)]
    [InlineData("POST", "9223372036854775807", false, nameof(RequestFraming.Length), long.MaxValue)]
    [InlineData("POST", "0", true, nameof(RequestFraming.None), 0)]
    [InlineData("POST", "0", false, nameof(RequestFraming.None), 0)]
    [InlineData("POST", "007", false, nameof(RequestFraming.Length), 7)]
    public void The_framing_follows_from_the_length_and_from_what_follows(
        string method, string? length, bool ended, string framing, long expected)
    {
        var plan = Read(method, ended, HeaderBlockFlags.None, length is null ? [] : [("Content-Length", length)]);
        Assert.True(plan.IsValid);
        Assert.Equal((framing, expected), (plan.Framing.ToString(), plan.ContentLength));
    }

    [Theory]
    [InlineData("5", true)]
    [InlineData("-1", false)]
    [InlineData("+5", false)]
    [InlineData("5x", false)]
    [InlineData("", false)]
    [InlineData(" 5", false)]
    [InlineData("5,5", false)]
    [InlineData("9223372036854775808", false)]
    [InlineData("00000000000000000000000000005", false)]
    public void A_length_that_is_none_or_has_no_body_is_refused(string length, bool ended) =>
        Assert.False(Read("POST", ended, HeaderBlockFlags.None, [("Content-Length", length)]).IsValid);

    [Fact]
    public void Equal_lengths_are_one_and_different_ones_are_none()
    {
        Assert.True(Read("POST", false, HeaderBlockFlags.None, [("Content-Length", "5"), ("content-length", "5")]).IsValid);
        Assert.False(Read("POST", false, HeaderBlockFlags.None, [("Content-Length", "5"), ("content-length", "6")]).IsValid);
    }

    [Fact]
    public void A_transfer_coding_never_crosses_the_wire() =>
        Assert.False(Read("POST", false, HeaderBlockFlags.None, [("Transfer-Encoding", "chunked")]).IsValid);

    [Fact]
    public void An_upgrade_has_raw_bytes_and_no_length()
    {
        (string, string) protocol = ("Upgrade", "websocket");
        Assert.Equal(
            (RequestFraming.Raw, true),
            (
                Read("GET", false, HeaderBlockFlags.Upgrade, [protocol]).Framing,
                Read("GET", false, HeaderBlockFlags.Upgrade, [protocol]).IsValid));
        Assert.True(Read("GET", false, HeaderBlockFlags.Upgrade, [protocol, ("Content-Length", "0")]).IsValid);
        Assert.False(Read("GET", false, HeaderBlockFlags.Upgrade, [protocol, ("Content-Length", "5")]).IsValid);
    }

    [Theory]
    [InlineData("h2c", false)]
    [InlineData("TLS/1.0, HTTP/2.0", false)]
    [InlineData("", false)]
    [InlineData("h2c, websocket", true)]
    public void An_upgrade_asks_for_a_protocol_that_may_cross(string protocols, bool isValid)
    {
        Assert.Equal(isValid, Read("GET", false, HeaderBlockFlags.Upgrade, [("Upgrade", protocols)]).IsValid);
        Assert.False(Read("GET", false, HeaderBlockFlags.Upgrade, []).IsValid);
    }

    [Theory]
    [InlineData("Content_Length", "5")]
    [InlineData("transfer.encoding", "chunked")]
    [InlineData("Host", "a, b")]
    [InlineData("Host", "u@a")]
    [InlineData("Host", "")]
    public void A_field_with_two_readings_is_refused(string name, string value) =>
        Assert.False(Read("GET", true, HeaderBlockFlags.None, [(name, value)]).IsValid);

    [Fact]
    public void Two_hosts_are_refused_and_so_is_connect()
    {
        Assert.False(Read("GET", true, HeaderBlockFlags.None, [("Host", "a"), ("host", "a")]).IsValid);
        Assert.False(Read("CONNECT", true, HeaderBlockFlags.None, []).IsValid);
    }

    [Theory]
    [InlineData("/", true)]
    [InlineData("//other.example/", true)]
    [InlineData("*", true)]
    [InlineData("", false)]
    [InlineData("http://other.example/", false)]
    [InlineData("other.example:443", false)]
    [InlineData("@other.example/", false)]
    [InlineData("*/", false)]
    public void Only_a_path_and_the_asterisk_are_targets_because_all_others_could_lead_a_proxy_elsewhere(string target, bool isValid)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(RequestBlocks.Make(target, "OPTIONS"), out var block));
        Assert.Equal(isValid, RequestPlan.Read(block, ended: true).IsValid);
    }

    [Theory]
    [InlineData("GET", true)]
    [InlineData("HEAD", true)]
    [InlineData("OPTIONS", true)]
    [InlineData("TRACE", true)]
    [InlineData("PUT", true)]
    [InlineData("DELETE", true)]
    [InlineData("POST", false)]
    [InlineData("PATCH", false)]
    [InlineData("PROPFIND", false)]
    [InlineData("get", false)]
    [InlineData("CONNECT", false)]
    public void Only_what_may_be_done_twice_and_has_no_body_is_sent_again(string method, bool replayable)
    {
        Assert.Equal(replayable, Read(method, true, HeaderBlockFlags.None, []).IsReplayable);
        Assert.False(Read(method, false, HeaderBlockFlags.None, [("Content-Length", "1")]).IsReplayable);
        Assert.False(Read(method, false, HeaderBlockFlags.None, []).IsReplayable);
    }

    private static RequestPlan Read(string method, bool ended, HeaderBlockFlags flags, (string Name, string Value)[] fields)
    {
        Assert.Equal(
            ProtocolError.None, HeaderBlock.TryRead(RequestBlocks.Make(method: method, flags: flags, fields: fields), out var block));
        var plan = RequestPlan.Read(block, ended);
        Assert.True(!plan.IsValid || plan.Method == KnownMethods.Classify(System.Text.Encoding.ASCII.GetBytes(method)));
        return plan;
    }
}
