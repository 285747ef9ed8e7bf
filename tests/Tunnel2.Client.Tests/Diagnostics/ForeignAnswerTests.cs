using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Client.Tests.Diagnostics;

public sealed class ForeignAnswerTests
{
    private static readonly ServerEndpoint _server = new("tunnel.example.com", 443);

    [Theory]
    [InlineData("485454502F312E31", ConnectFailureReason.HttpServer)]
    [InlineData("15030100020228", ConnectFailureReason.SpeaksTls)]
    [InlineData("1503030002", ConnectFailureReason.SpeaksTls)]
    [InlineData("1603030031", ConnectFailureReason.SpeaksTls)]
    [InlineData("5353482D322E302D", ConnectFailureReason.NotTunnel2)]
    [InlineData("15", ConnectFailureReason.NotTunnel2)]
    [InlineData("", ConnectFailureReason.NotTunnel2)]
    public void The_first_bytes_say_who_is_there(string hex, ConnectFailureReason reason) =>
        Assert.Equal(reason, ForeignAnswer.FromBytes(Convert.FromHexString(hex)));

    [Theory]
    [InlineData(
        "HTTP/1.1 404 Not Found\r\nTunnel2-Error: unknown-host\r\n\r\n", ConnectFailureReason.PublicPort,
        "as in tunnel.example.com:12001")]
    [InlineData("HTTP/1.1 400 Bad Request\r\nserver:  nginx/1.22 \r\n\r\n", ConnectFailureReason.HttpServer, "an HTTP server (nginx/1.22)")]
    [InlineData("HTTP/1.1 400 Bad Request\r\n\r\n", ConnectFailureReason.HttpServer, "an HTTP server. Check the port")]
    [InlineData("", ConnectFailureReason.HttpServer, "an HTTP server. Check the port")]
    [InlineData("HTTP/1.1 400 Bad Request\r\nVia: 1.1 corporate (squid)\r\n\r\n", ConnectFailureReason.HttpProxy, "connect past the proxy")]
    [InlineData("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", ConnectFailureReason.HttpProxy, "connect past the proxy")]
    public void The_head_of_an_answer_says_what_kind_of_HTTP_server_it_is(string head, ConnectFailureReason reason, string words)
    {
        ConnectFailure failure = ForeignAnswer.FromHttp(_server, head);

        Assert.Equal(reason, failure.Reason);
        Assert.Contains(words, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Every_failure_names_the_server_and_something_to_do()
    {
        string[] advice = ["Is ", "Check ", "check ", "Connect ", "connect ", "It may be ", "(detail)", "agents connect to"];
        foreach (ConnectFailureReason reason in Enum.GetValues<ConnectFailureReason>())
        {
            string message = ConnectFailure.Create(_server, reason, "detail").Message;
            Assert.Contains("tunnel.example.com:443", message, StringComparison.Ordinal);
            Assert.Contains(advice, word => message.Contains(word, StringComparison.Ordinal));
        }
    }
}
