using System.Net.Security;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendVersionsTests
{
    [Theory]
    [InlineData("http://h", BackendProtocol.Auto, false, true)]
    [InlineData("http://h", BackendProtocol.Http1, false, false)]
    [InlineData("http://h", BackendProtocol.Http2, true, true)]
    [InlineData("https://h", BackendProtocol.Auto, true, true)]
    [InlineData("https://h", BackendProtocol.Http1, false, false)]
    [InlineData("https://h", BackendProtocol.Http2, true, true)]
    [InlineData("h2c://h", BackendProtocol.Auto, true, true)]
    public void The_setting_the_scheme_and_the_request_decide(string url, BackendProtocol setting, bool ordinary, bool grpc)
    {
        var versions = Versions(url, setting);
        Assert.Equal(ordinary, versions.WantsHttp2(isGrpc: false, isOtherUpgrade: false));
        Assert.Equal(grpc, versions.WantsHttp2(isGrpc: true, isOtherUpgrade: false));
    }

    [Fact]
    public void A_switch_to_another_protocol_than_websocket_goes_in_http1_where_that_may_be() => Assert.Equal(
        (false, true),
        (Versions("https://h", BackendProtocol.Auto).WantsHttp2(false, isOtherUpgrade: true),
            Versions("h2c://h", BackendProtocol.Auto).WantsHttp2(false, isOtherUpgrade: true)));

    [Fact]
    public void What_was_found_out_counts_until_another_program_may_listen_there()
    {
        var versions = Versions("https://h", BackendProtocol.Auto);
        versions.FoundNoHttp2();
        Assert.False(versions.WantsHttp2(isGrpc: true, isOtherUpgrade: false));
        versions.Forget();
        Assert.True(versions.WantsHttp2(isGrpc: true, isOtherUpgrade: false));
        var plain = Versions("http://h", BackendProtocol.Auto);
        plain.FoundOnlyHttp2();
        Assert.True(plain.WantsHttp2(isGrpc: false, isOtherUpgrade: true));
        plain.Forget();
        Assert.False(plain.WantsHttp2(isGrpc: false, isOtherUpgrade: false));
    }

    [Fact]
    public void A_user_who_said_http1_gets_nothing_else()
    {
        var versions = Versions("http://h", BackendProtocol.Http1);
        versions.FoundOnlyHttp2();
        Assert.False(versions.WantsHttp2(isGrpc: true, isOtherUpgrade: false));
    }

    [Theory]
    [InlineData(BackendProtocol.Auto, 2)]
    [InlineData(BackendProtocol.Http2, 1)]
    public void Alpn_offers_http1_too_unless_the_user_has_decided(BackendProtocol setting, int count)
    {
        var offers = Versions("https://h", setting).Offers;
        Assert.Equal((count, SslApplicationProtocol.Http2), (offers.Count, offers[0]));
    }

    private static BackendVersions Versions(string url, BackendProtocol setting)
    {
        Assert.Null(BackendTarget.TryParse(url, out var target));
        return new BackendVersions(target!, setting);
    }
}
