using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Ways;

namespace Tunnel2.Client.Tests.Ways;

public sealed class SocksProxyTests
{
    private static readonly ServerEndpoint _server = new("tunnel.example.com", 12001);
    private static readonly ProxyAddress _proxy = new(ProxyKind.Socks5, "proxy.example.com", 1080) { User = "jo", Password = "s3cret" };

    [Theory]
    [InlineData("0502 0100 05000001 7f000001 0000")]
    [InlineData("0500 05000004 00000000000000000000000000000001 0050")]
    [InlineData("0500 05000003 04 61626364 0050")]
    public async Task An_answer_counts_however_it_is_cut_and_not_a_byte_more_is_read(string hex)
    {
        byte[] answer = [.. Bytes(hex), 0xAB];
        for (var cut = 0; cut <= answer.Length; cut++)
        {
            var peer = ScriptedPeer.CutAt(answer, cut);
            Assert.Null(await SocksProxy.OpenAsync(peer, _proxy, _server));
            var rest = new byte[10];
            Assert.Equal(1, await peer.ReceiveAsync(rest));
            Assert.Equal(0xAB, rest[0]);
        }

        Assert.Null(await SocksProxy.OpenAsync(ScriptedPeer.ByteByByte(answer), _proxy, _server));
    }

    [Fact]
    public async Task A_name_is_left_to_the_proxy_and_an_address_is_sent_as_one()
    {
        var peer = new ScriptedPeer([Bytes("0502 0100 05000001 7f000001 0000")]);
        await SocksProxy.OpenAsync(peer, _proxy, _server);
        Assert.Equal(
            Bytes("05020002" + "01026a6f06733363726574" + "05010003" + "12" + Convert.ToHexString("tunnel.example.com"u8) + "2ee1"),
            peer.Sent.ToArray());
        foreach (var (host, address) in new[] { ("192.0.2.7", "01c0000207"), ("2001:db8::1", "0420010db8000000000000000000000001") })
        {
            var plain = new ScriptedPeer([Bytes("0500 05000001 7f000001 0000")]);
            await SocksProxy.OpenAsync(plain, _proxy with { User = null, Password = null }, new ServerEndpoint(host, 443));
            Assert.Equal(Bytes("050100" + "050100" + address + "01bb"), plain.Sent.ToArray());
        }
    }

    [Theory]
    [InlineData("05ff", ConnectFailureReason.ProxyAuthentication, "neither")]
    [InlineData("0502 0101", ConnectFailureReason.ProxyAuthentication, "does not accept")]
    [InlineData("0501", ConnectFailureReason.ProxyFailed, "not offered")]
    [InlineData("0500 0502000100000000 0000", ConnectFailureReason.ProxyRefused, "rules")]
    [InlineData("0500 0505000100000000 0000", ConnectFailureReason.ProxyRefused, "refused")]
    [InlineData("0500 0563000100000000 0000", ConnectFailureReason.ProxyRefused, "code 99")]
    [InlineData("0500 0500000900000000 0000", ConnectFailureReason.ProxyFailed, "unknown kind")]
    [InlineData("0500 0400000100000000 0000", ConnectFailureReason.ProxyFailed, "SOCKS 5")]
    [InlineData("485454502f312e31", ConnectFailureReason.ProxyFailed, "http://")]
    [InlineData("0400", ConnectFailureReason.ProxyFailed, "SOCKS 5")]
    [InlineData("", ConnectFailureReason.ProxyFailed, "closed")]
    [InlineData("0500 050000", ConnectFailureReason.ProxyFailed, "closed")]
    public async Task A_proxy_that_does_not_connect_is_named_with_what_it_did(string hex, ConnectFailureReason reason, string words)
    {
        var failure = await SocksProxy.OpenAsync(ScriptedPeer.ByteByByte(Bytes(hex)), _proxy, _server);
        Assert.Equal(reason, failure!.Reason);
        Assert.Contains(words, failure.Message, StringComparison.Ordinal);
        Assert.Contains("socks5://proxy.example.com:1080", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
    }

    private static byte[] Bytes(string hex) => Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
}
