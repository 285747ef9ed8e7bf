using System.Diagnostics;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Tunnel2.FunctionalTests.Uplinks;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Embedding;

/// <summary>Streams of an app that carry nothing.</summary>
[Collection(MeasuringCollection.Name)]
public sealed class IdleStreamTests
{
    private const int Streams = 3000;

    /// <summary>Far fewer than streams, and more than a thread pool adds by itself.</summary>
    private const int MoreThreads = 60;

    [Fact]
    public async Task They_hold_no_thread()
    {
        var waiting = new AsyncCounter("requests that wait in the app");
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await EmbeddedTunnel.RunAsync(
            app => app.MapGet("/idle", async (HttpContext context) =>
            {
                waiting.Increment();
                await mayEnd.Task;
                await context.Response.WriteAsync("done");
            }),
            async tunnel =>
            {
                using var process = Process.GetCurrentProcess();
                int before = process.Threads.Count;
                var request = Encoding.ASCII.GetBytes($"GET /idle HTTP/1.1\r\nHost: {EmbeddedTunnel.Host}\r\nConnection: close\r\n\r\n");
                var visitors = new List<Socket>(Streams);
                try
                {
                    for (var i = 0; i < Streams; i++)
                    {
                        var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp);
                        visitors.Add(visitor);
                        await visitor.ConnectAsync(tunnel.Entry.Http);
                        await visitor.SendAsync(request);
                    }

                    await waiting.WaitForAsync(Streams);
                    process.Refresh();
                    Assert.InRange(process.Threads.Count, 0, before + MoreThreads);
                    mayEnd.SetResult();
                    var buffer = new byte[1024];
                    foreach (var visitor in visitors)
                    {
                        var text = new StringBuilder();
                        while (await visitor.ReceiveAsync(buffer.AsMemory()) is > 0 and var count)
                        {
                            text.Append(Encoding.ASCII.GetString(buffer, 0, count));
                        }

                        Assert.Contains("done", text.ToString(), StringComparison.Ordinal);
                    }
                }
                finally
                {
                    visitors.ForEach(static visitor => visitor.Dispose());
                }
            });
    }
}
