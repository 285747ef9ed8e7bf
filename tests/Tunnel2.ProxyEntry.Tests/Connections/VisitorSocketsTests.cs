using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Connections;

public sealed class VisitorSocketsTests
{
    [Fact]
    public async Task An_accepted_connection_whose_visitor_acknowledges_nothing_has_a_limit()
    {
        if (!OperatingSystem.IsLinux())
        {
            return;
        }

        Assert.SkipUnless(LoopbackV6.IsThere, "No ::1 here.");
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
        VisitorSockets.LimitSilence(listener, TimeSpan.FromSeconds(7));
        listener.Listen();
        using var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await visitor.ConnectAsync(listener.LocalEndPoint!);
        using var accepted = await listener.AcceptAsync();
        var value = new byte[4];
        accepted.GetRawSocketOption(6, 18, value);
        Assert.Equal(7000, BitConverter.ToInt32(value));
    }
}
