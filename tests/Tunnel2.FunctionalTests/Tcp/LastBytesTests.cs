using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

/// <summary>Not for the portable engine: .NET's transport gives up what it has read when a reset comes.</summary>
public sealed class LastBytesTests
{
    [Fact]
    public async Task What_came_before_a_break_of_the_visitor_comes_before_it()
    {
        var ended = new WaitSignal("the service's connection ended");
        await TunnelFixture.RunAsync(
            async service =>
            {
                await service.WriteAsync("hello");
                Assert.Equal("last words"u8.ToArray(), await service.ReadExactlyAsync(10));
                Assert.Equal(ConnectionEnding.Reset, await service.WaitForEndAsync());
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await TcpTunnel.VisitAsync(tunnel);
                await visitor.ReadExactlyAsync(5);
                await visitor.WriteAsync("last words");
                visitor.Reset();
                await ended.WaitAsync();
            },
            TcpTunnel.Setup());
    }
}
