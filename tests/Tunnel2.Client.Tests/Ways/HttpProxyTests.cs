using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Ways;

namespace Tunnel2.Client.Tests.Ways;

public sealed class HttpProxyTests
{
    private const string Ok = "HTTP/1.1 200 Connection established\r\nVia: 1.1 squid\r\n\r\n";
    private static readonly ServerEndpoint _server = new("tunnel.example.com", 12001);
    private static readonly ProxyAddress _proxy = new(ProxyKind.Http, "proxy.example.com", 3128) { User = "jo", Password = "s3cret:x" };

    [Fact]
    public async Task An_answer_counts_however_it_is_cut()
    {
        var answer = Encoding.ASCII.GetBytes("HTTP/1.0 103 Early\r\n\r\n" + Ok);
        for (var cut = 0; cut <= answer.Length; cut++)
        {
            Assert.Null(await HttpProxy.OpenAsync(ScriptedPeer.CutAt(answer, cut), _proxy, _server));
        }

        Assert.Null(await HttpProxy.OpenAsync(ScriptedPeer.ByteByByte(answer), _proxy, _server));
    }

    [Fact]
    public async Task The_request_names_the_server_and_has_the_credentials_in_base64()
    {
        var peer = new ScriptedPeer([Encoding.ASCII.GetBytes(Ok)]);
        await HttpProxy.OpenAsync(peer, _proxy, _server);
        Assert.StartsWith("CONNECT tunnel.example.com:12001 HTTP/1.1\r\nHost: tunnel.example.com:12001\r\n", peer.SentText);
        Assert.Contains(
            $"Proxy-Authorization: Basic {Convert.ToBase64String("jo:s3cret:x"u8)}\r\n", peer.SentText, StringComparison.Ordinal);
        var plain = new ScriptedPeer([Encoding.ASCII.GetBytes(Ok)]);
        await HttpProxy.OpenAsync(plain, _proxy with { User = null, Password = null }, new ServerEndpoint("::1", 443));
        Assert.StartsWith("CONNECT [::1]:443 HTTP/1.1\r\n", plain.SentText);
        Assert.DoesNotContain("Authorization", plain.SentText, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n", ConnectFailureReason.ProxyAuthentication, "does not accept")]
    [InlineData("HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\n\r\n", ConnectFailureReason.ProxyAuthentication, "by NTLM")]
    [InlineData("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", ConnectFailureReason.ProxyRefused, "403 Forbidden")]
    [InlineData("HTTP/1.1 502 \u001b[31mBad\r\n\r\n", ConnectFailureReason.ProxyFailed, "HTTP")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", ConnectFailureReason.ProxyFailed, "does not make a tunnel")]
    [InlineData("<html>welcome</html>\r\n\r\n", ConnectFailureReason.ProxyFailed, "not answer in HTTP")]
    [InlineData("HTTP/1.0 200 OK\n\n", ConnectFailureReason.ProxyFailed, "broke HTTP in its answer (it begins with 'HTTP/1.0 200 OK')")]
    [InlineData("\u0015\u0003\u0001\u0000\u0002\u0002\u0046", ConnectFailureReason.ProxyFailed, "speaks TLS at this port")]
    [InlineData("SSH-2.0-OpenSSH_9.6\r\n", ConnectFailureReason.ProxyFailed, "SSH-2.0-OpenSSH_9.6")]
    [InlineData("", ConnectFailureReason.ProxyFailed, "without an answer")]
    [InlineData("HTTP/1.1 200 OK\r\nVia: x", ConnectFailureReason.ProxyFailed, "within its answer")]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\n\r\n", ConnectFailureReason.ProxyRefused, "101")]
    public async Task A_proxy_that_does_not_connect_is_named_with_what_it_did(string answer, ConnectFailureReason reason, string words)
    {
        var bytes = Encoding.Latin1.GetBytes(answer);
        foreach (var isWhole in new[] { true, false })
        {
            var peer = isWhole ? new ScriptedPeer([bytes]) : ScriptedPeer.ByteByByte(bytes);
            var failure = await HttpProxy.OpenAsync(peer, _proxy, _server);
            if (answer.EndsWith("<html>", StringComparison.Ordinal) && !isWhole)
            {
                Assert.Null(failure);

                // The page comes later than the head: TLS or the handshake finds it.
                continue;
            }

            Assert.Equal(reason, failure!.Reason);

            // Of a foreign greeting that comes byte by byte, the first byte is enough to see that it is foreign.
            var isForeign = answer.StartsWith("SSH", StringComparison.Ordinal) || answer.StartsWith('\u0015');
            Assert.Contains(isWhole || !isForeign ? words : "", failure.Message);
            Assert.Contains("http://proxy.example.com:3128", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain('\u001b', failure.Message);
            Assert.Matches("[^.?]\\.$", failure.Message);
        }
    }

    [Fact]
    public async Task A_proxy_that_wants_credentials_and_got_none_says_how_to_give_them()
    {
        var failure = await HttpProxy.OpenAsync(
            new ScriptedPeer(["HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"u8.ToArray()]),
            _proxy with { User = null, Password = null },
            _server);
        Assert.Equal(ConnectFailureReason.ProxyAuthentication, failure!.Reason);
        Assert.Contains("TUNNEL2_PROXY", failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")]
    [InlineData("A: b\r\n")]
    public async Task An_endless_head_is_cut_off(string field)
    {
        var endless = Enumerable.Repeat(Encoding.ASCII.GetBytes(field), 100_000).Prepend("HTTP/1.1 200 OK\r\n"u8.ToArray());
        var failure = await HttpProxy.OpenAsync(new ScriptedPeer(endless), _proxy, _server);
        Assert.Equal(ConnectFailureReason.ProxyFailed, failure!.Reason);
        Assert.Contains("16 KiB", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Endless_interim_answers_are_cut_off()
    {
        var endless = Enumerable.Repeat("HTTP/1.1 100 Continue\r\n\r\n"u8.ToArray(), 100_000);
        var failure = await HttpProxy.OpenAsync(new ScriptedPeer(endless), _proxy, _server);
        Assert.Equal(ConnectFailureReason.ProxyRefused, failure!.Reason);
    }
}
