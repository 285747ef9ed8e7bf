using System.Net;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.Budgets.Tests.Tunnel;

/// <summary>
/// What a request costs in managed memory, entry and agent together. Visitor and backend are plain sockets on threads of their own, which
/// allocate nothing.
/// </summary>
public sealed class RequestAllocationTests
{
    private const int Requests = 1000;

    /// <summary>Bytes for each request: most of it is the runtime's and Kestrel's own.</summary>
    private const int Budget = 600;

    [Fact]
    public async Task A_small_request_through_the_tunnel_stays_within_its_budget()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(8);
        var backend = new Thread(() => Serve(listener)) { IsBackground = true };
        backend.Start();
        await TunnelFixture.RunAsync(((IPEndPoint)listener.LocalEndPoint!).Port, async tunnel =>
        {
            using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            await visitor.ConnectAsync(tunnel.Entry.Http);
            var least = long.MaxValue;
            for (var run = 0; run < 6; run++)
            {
                // The first runs warm up; because a timer or a tiering compiler may add some, the least of the others is the path's own.
                least = Math.Min(least, await Task.Run(() => Measure(visitor)));
            }

            TestContext.Current.TestOutputHelper?.WriteLine($"{least / (double)Requests:F0} bytes a request");
            Assert.InRange(least / Requests, 0, Budget);
        });
    }

    private static long Measure(Socket visitor)
    {
        var request = "GET /x HTTP/1.1\r\nHost: web.localhost\r\nAccept: */*\r\n\r\n"u8.ToArray();
        var buffer = new byte[4096];
        var before = GC.GetTotalAllocatedBytes(precise: true);
        for (var i = 0; i < Requests; i++)
        {
            visitor.Send(request);
            var received = 0;
            do
            {
                var count = visitor.Receive(buffer.AsSpan(received));
                received += count > 0 ? count : throw new IOException("The connection has ended.");
            }
            while (!buffer.AsSpan(0, received).EndsWith("\r\n\r\nhello"u8));
        }

        return GC.GetTotalAllocatedBytes(precise: true) - before;
    }

    private static void Serve(Socket listener)
    {
        var buffer = new byte[4096];
        var response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"u8.ToArray();
        try
        {
            while (true)
            {
                using var connection = listener.Accept();
                connection.NoDelay = true;
                var received = 0;
                while (connection.Receive(buffer.AsSpan(received)) is > 0 and var count)
                {
                    received += count;
                    if (buffer.AsSpan(0, received).EndsWith("\r\n\r\n"u8))
                    {
                        received = 0;
                        connection.Send(response);
                    }
                }
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The test is over.
        }
    }
}
