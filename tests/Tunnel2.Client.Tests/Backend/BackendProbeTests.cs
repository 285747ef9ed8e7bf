using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendProbeTests
{
    [Theory]
    [InlineData(true, false, null, StreamResetDetail.SpeaksTls)]
    [InlineData(true, true, null, StreamResetDetail.SpeaksTls)]
    [InlineData(false, true, null, StreamResetDetail.SpeaksHttp2)]
    [InlineData(false, true, "HTTP/1.1 405 No\r\n\r\n", StreamResetDetail.ClosedBeforeResponse)]
    [InlineData(false, false, "HTTP/1.1 405 No\r\n\r\n", StreamResetDetail.ClosedBeforeResponse)]
    [InlineData(false, false, null, StreamResetDetail.ClosedBeforeResponse)]
    public async Task A_service_that_closes_is_found_out(bool speaksTls, bool speaksHttp2, string? options, StreamResetDetail found)
    {
        await using var service = SilentService.Start(speaksTls, speaksHttp2, options);
        var probe = Probe(service.Port, new ManualTimeProvider());
        Assert.Equal(found, await probe.AskAsync());
    }

    [Fact]
    public async Task A_service_that_is_gone_is_not_found_out()
    {
        using var port = new RefusedPort();
        Assert.Equal(StreamResetDetail.ClosedBeforeResponse, await Probe(port.Port, new ManualTimeProvider()).AskAsync());
    }

    [Fact]
    public async Task It_asks_again_when_half_a_minute_has_passed()
    {
        await using var service = SilentService.Start(speaksTls: true);
        var time = new ManualTimeProvider();
        var probe = Probe(service.Port, time);
        Assert.Equal(StreamResetDetail.SpeaksTls, await probe.AskAsync());
        time.Advance(TimeSpan.FromSeconds(30));
        Assert.Equal(StreamResetDetail.SpeaksTls, await probe.AskAsync());
        Assert.Equal(1, service.ConnectionsAccepted.Value);
        time.Advance(TimeSpan.FromTicks(1));
        Assert.Equal(StreamResetDetail.SpeaksTls, await probe.AskAsync());
        Assert.Equal(2, service.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task A_service_that_says_nothing_is_given_three_seconds()
    {
        var greeted = new AsyncCounter("connections on which the probe spoke");
        await using var service = RawTcpServer.Start(async connection =>
        {
            await connection.ReadExactlyAsync(1);
            greeted.Increment();
            await connection.WaitForEndAsync();
        });
        var time = new ManualTimeProvider();
        var asking = Probe(service.Port, time).AskAsync();
        for (var connection = 1; connection <= 2; connection++)
        {
            await greeted.WaitForAsync(connection);
            time.Advance(TimeSpan.FromSeconds(3) - TimeSpan.FromTicks(1));
            Assert.False(asking.IsCompleted);
            time.Advance(TimeSpan.FromTicks(1));
        }

        Assert.Equal(StreamResetDetail.ClosedBeforeResponse, await asking);
    }

    private static BackendProbe Probe(int port, TimeProvider time) =>
        new(new BackendTarget(false, "127.0.0.1", port), new BufferPool(), time);
}
