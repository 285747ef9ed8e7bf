using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;
using static Tunnel2.ProxyEntry.Tests.Fronts.Http1.ScriptedForwarder;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

/// <summary>Connections that begin in the process.</summary>
public sealed class InnerConnectionTests
{
    [Theory]
    [InlineData(true, 8443, "https")]
    [InlineData(false, 80, "http")]
    public Task A_request_counts_as_sent_with_the_scheme_and_to_the_port_that_it_says(bool isTls, int port, string scheme) => RunAsync(
        static (exchange, _) =>
        {
            Answer(exchange, Describe(exchange));
            return default;
        },
        async (front, _) =>
        {
            await using var connection = new InnerConnection(front, isTls, port);
            await connection.WriteAsync("GET /a HTTP/1.1\r\nHost: web.localhost\r\nConnection: close\r\n\r\n"u8.ToArray());
            var answer = await ReadAsync(connection);
            Assert.Contains($"GET {scheme} web.localhost /a\n", answer, StringComparison.Ordinal);
            Assert.Contains("X-Forwarded-For: 127.0.0.1\n", answer, StringComparison.Ordinal);
            Assert.Contains(
                FormattableString.Invariant($"X-Forwarded-Proto: {scheme}\nX-Forwarded-Port: {port}\n"), answer, StringComparison.Ordinal);
        });

    [Fact]
    public async Task A_caller_that_leaves_ends_its_request()
    {
        var arrived = new WaitSignal("the request has arrived");
        var left = new WaitSignal("the visitor has left");
        await RunAsync(
            async (exchange, _) =>
            {
                using var registration = exchange.VisitorLeft.Register(left.Set);
                arrived.Set();
                await left.WaitAsync();
            },
            async (front, time) =>
            {
                await using (var connection = new InnerConnection(front, isTls: false, 80))
                {
                    await connection.WriteAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray());
                    await arrived.WaitAsync();
                }

                // As for every visitor that has ended its direction: in a moment.
                await WaitSignal.UntilAsync(
                    () =>
                    {
                        time.Advance(TimeSpan.FromSeconds(1));
                        return left.IsSet;
                    },
                    "the visitor counts as gone");
            });
    }

    [Fact]
    public Task A_body_that_is_not_read_waits_and_ends_with_the_connection() => RunAsync(
        static async (exchange, _) =>
        {
            var left = new WaitSignal("the visitor has left");
            using var registration = exchange.VisitorLeft.Register(left.Set);
            await left.WaitAsync();
        },
        async (front, time) =>
        {
            await using var connection = new InnerConnection(front, isTls: false, 80);
            await connection.WriteAsync("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n"u8.ToArray());
            var sending = connection.WriteAsync(new byte[1024 * 1024]).AsTask();
            Assert.False(sending.IsCompleted);
            await connection.DisposeAsync();
            await Assert.ThrowsAnyAsync<Exception>(() => sending.WaitAsync(AsyncCounter.DefaultTimeout));
            await Assert.ThrowsAsync<IOException>(() => connection.WriteAsync(new byte[1]).AsTask());
            time.Advance(TimeSpan.FromSeconds(1));
        });

    private static async Task<string> ReadAsync(Stream connection)
    {
        using var all = new MemoryStream();
        await connection.CopyToAsync(all);
        return Encoding.Latin1.GetString(all.ToArray());
    }

    private static async Task RunAsync(
        Func<VisitorExchange, ForwardedRequest, ValueTask> script, Func<Http1Front, ManualTimeProvider, Task> test)
    {
        var settings = SettingsFixture.LoadValid();
        var time = new ManualTimeProvider();
        using var sweep = new ConnectionSweep(settings, time, new ContainedFaults(time));
        await test(
            new Http1Front(new ScriptedForwarder(script), sweep, settings, new DrainSignal(), NullLogger<Http1Front>.Instance), time);
    }
}
