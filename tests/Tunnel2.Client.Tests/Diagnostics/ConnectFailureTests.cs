using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Client.Tests.Diagnostics;

public sealed class ConnectFailureTests
{
    private static readonly ServerEndpoint _server = new("tunnel.example.com", 12001);

    public static TheoryData<Exception, ConnectFailureReason, string> Causes => new()
    {
        { new SocketException((int)SocketError.ConnectionRefused), ConnectFailureReason.Refused, "connection refused" },
        { new SocketException((int)SocketError.TimedOut), ConnectFailureReason.TimedOut, "no answer in time" },
        { new OperationCanceledException(), ConnectFailureReason.TimedOut, "no answer in time" },
        { new TimeoutException(), ConnectFailureReason.TimedOut, "no answer in time" },
        { new SocketException((int)SocketError.HostNotFound), ConnectFailureReason.NameNotResolved, "(DNS)" },
        { new SocketException((int)SocketError.TryAgain), ConnectFailureReason.NameNotResolved, "(DNS)" },
        { new SocketException((int)SocketError.NetworkUnreachable), ConnectFailureReason.NoRoute, "no route" },
        { new SocketException((int)SocketError.ConnectionReset), ConnectFailureReason.ClosedEarly, "closed the connection" },
        { new EndOfStreamException(), ConnectFailureReason.ClosedEarly, "closed the connection" },
        { new AuthenticationException("untrusted root"), ConnectFailureReason.TlsFailed, "untrusted root" },
        { new InvalidOperationException("odd"), ConnectFailureReason.Other, "odd" },
        {
            new IOException("read", new SocketException((int)SocketError.ConnectionReset)),
            ConnectFailureReason.ClosedEarly,
            "closed the connection"},
    };

    [Theory]
    [MemberData(nameof(Causes), DisableDiscoveryEnumeration = true)]
    public void An_exception_is_reported_in_one_line_that_names_the_server(Exception exception, ConnectFailureReason reason, string words)
    {
        ConnectFailure failure = ConnectFailure.From(_server, exception);

        Assert.Equal(reason, failure.Reason);
        Assert.Contains("tunnel.example.com:12001", failure.Message, StringComparison.Ordinal);
        Assert.Contains(words, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    [Fact]
    public void A_wrong_port_is_reported_with_the_right_one()
    {
        ConnectFailure failure = ConnectFailure.Create(_server with { Port = 12000 }, ConnectFailureReason.NotTunnel2);

        Assert.Equal(
            "Something else than a Tunnel2 server answers at tunnel.example.com:12000. Check the port: the uplink port is 12001 by "
                + "default, not the public port.",
            failure.Message);
    }

    [Fact]
    public void Over_WebSocket_the_words_name_that_way_and_its_port_alone()
    {
        foreach (ConnectFailureReason reason in Enum.GetValues<ConnectFailureReason>())
        {
            ConnectFailure failure = ConnectFailure.Create(_server with { Port = 443 }, UplinkWay.WebSocket, reason, "a detail");

            Assert.Equal(reason, failure.Reason);
            Assert.StartsWith(
                "Cannot open an uplink over WebSocket at tunnel.example.com:443: ", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("12001", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("uplink port", failure.Message, StringComparison.Ordinal);
            Assert.Matches("[^.?][.?]$", failure.Message);
        }
    }

    [Theory]
    [InlineData(RejectionReason.Unauthorized, "--token")]
    [InlineData(RejectionReason.NameTaken, "taken by another agent")]
    [InlineData(RejectionReason.NameNotAllowed, "--name")]
    [InlineData(RejectionReason.VersionUnsupported, "Update the older")]
    [InlineData(RejectionReason.AccessUnsupported, "the tunnel is not published")]
    [InlineData(RejectionReason.KindUnsupported, "tunnels of this kind")]
    [InlineData(RejectionReason.PortNotAvailable, "--remote-port")]
    [InlineData(RejectionReason.PortLimitReached, "as many public ports as the server gives one agent")]
    [InlineData(RejectionReason.Busy, "does not take this session at the moment")]
    [InlineData(RejectionReason.Other, "rejected the session")]
    public void A_rejection_says_what_to_do_and_repeats_the_server_s_words(RejectionReason reason, string words)
    {
        string message = new Rejection(reason, "the_code", "the server's words").Message;

        Assert.Contains(words, message, StringComparison.Ordinal);
        Assert.EndsWith("[the_code: the server's words].", message, StringComparison.Ordinal);
        Assert.EndsWith("[the_code].", new Rejection(reason, "the_code", "").Message, StringComparison.Ordinal);
    }
}
