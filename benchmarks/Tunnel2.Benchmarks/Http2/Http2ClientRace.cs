using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Http2.Hpack;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Benchmarks.Http2;

/// <summary>
/// What a request to an HTTP/2 service without TLS costs the client in processor time: the runtime's client, and the agent's with the
/// runtime's sockets and on an event loop. The service is another process, so that all of this one's time is the client's. Wall time
/// depends on what else the machine does, processor time hardly.
/// </summary>
internal static class Http2ClientRace
{
    private const int Rounds = 5;

    private static readonly (int Length, int AtOnce, int Requests)[] _runs =
        [(100, 1, 10_000), (100, 50, 100_000), (65_536, 1, 5_000), (65_536, 50, 10_000)];

    /// <summary>Runs all, and writes a table of the medians of five rounds.</summary>
    /// <param name="service">The service's address: of <c>tunnel2-testbackend --http2</c>.</param>
    public static async Task RunAsync(Uri service)
    {
        using var http = new HttpClient(new SocketsHttpHandler { UseProxy = false, UseCookies = false })
        {
            BaseAddress = service,
            DefaultRequestVersion = HttpVersion.Version20,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        using var engine = new EpollEngine(loops: 1);
        using var pooled = Own(service, null);
        using var looped = Own(service, engine.Loops[0]);
        Console.WriteLine("| request | at once | SocketsHttpHandler | own, runtime's sockets | own, event loop |\n|---|---|---|---|---|");
        foreach (var (length, atOnce, requests) in _runs)
        {
            var path = $"/bytes/{length}";
            var head = Head(service, path);
            var figures = new List<double>[] { [], [], [] };
            for (var round = -1; round < Rounds; round++)
            {
                // The first round warms up.
                double[] cost =
                [
                    await MeasureAsync(atOnce, requests, null, buffer => AskAsync(http, path, length, buffer)),
                    await MeasureAsync(atOnce, requests, null, _ => AskAsync(pooled.On(null), head, length)),
                    await MeasureAsync(atOnce, requests, engine.Loops[0], _ => AskAsync(looped.On(engine.Loops[0]), head, length)),
                ];
                for (var i = 0; round >= 0 && i < cost.Length; i++)
                {
                    figures[i].Add(cost[i]);
                }
            }

            var medians = figures.Select(static one => one.Order().ElementAt(Rounds / 2).ToString("F1", CultureInfo.InvariantCulture));
            Console.WriteLine($"| GET {path} | {atOnce} | {string.Join(" | ", medians)} |");
        }
    }

    private static Http2Connections Own(Uri service, EpollLoop? loop)
    {
        var target = new BackendTarget(false, service.Host, service.Port) { IsHttp2 = true };
        return new Http2Connections(
            target, new BackendConnector(target, BufferPool.Shared, loop), new BackendVersions(target, BackendProtocol.Http2),
            BufferPool.Shared, null, TimeProvider.System);
    }

    private static byte[] Head(Uri service, string path)
    {
        var head = new byte[256];
        var writer = new HpackWriter(head);
        writer.WriteNoTable();
        writer.WriteIndexed(HpackStaticTable.MethodGet);
        writer.WriteIndexed(HpackStaticTable.SchemeHttp);
        writer.WriteField(HpackStaticTable.Path, Encoding.ASCII.GetBytes(path));
        writer.WriteField(HpackStaticTable.Authority, Encoding.ASCII.GetBytes(service.Authority));
        return head[..writer.Written];
    }

    /// <returns>Microseconds of processor time for each request.</returns>
    private static async Task<double> MeasureAsync(int atOnce, int requests, EpollLoop? loop, Func<byte[], ValueTask> ask)
    {
        using var process = Process.GetCurrentProcess();
        var before = process.TotalProcessorTime;
        await Task.WhenAll(Enumerable.Range(0, atOnce).Select(_ => loop is null ? Task.Run(WorkAsync) : OnLoopAsync(loop, WorkAsync)));
        process.Refresh();
        return (process.TotalProcessorTime - before).TotalMicroseconds / requests;

        async Task WorkAsync()
        {
            var buffer = new byte[64 * 1024];
            for (var i = 0; i < requests / atOnce; i++)
            {
                await ask(buffer);
            }
        }
    }

    private static Task OnLoopAsync(EpollLoop loop, Func<Task> work)
    {
        var done = new TaskCompletionSource<Task>(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Schedule(_ => done.SetResult(work()), null);
        return done.Task.Unwrap();
    }

    private static async ValueTask AskAsync(HttpClient http, string path, int length, byte[] buffer)
    {
        using var answer = await http.GetAsync(new Uri(path, UriKind.Relative), HttpCompletionOption.ResponseHeadersRead)
            .ConfigureAwait(false);
        using var body = await answer.Content.ReadAsStreamAsync().ConfigureAwait(false);
        for (int read; (read = await body.ReadAsync(buffer).ConfigureAwait(false)) > 0;)
        {
            length -= read;
        }

        ThrowUnlessAll(length);
    }

    private static async ValueTask AskAsync(Http2LoopConnections connections, byte[] head, int length)
    {
        var connection = connections.TryReserve()
            ?? (await connections.ReserveAsync(CancellationToken.None).ConfigureAwait(false)).Connection
            ?? throw new InvalidOperationException("The service cannot be reached.");
        var stream = connection.TryOpen(head, ends: true, isHead: false)
            ?? throw new InvalidOperationException("The service has ended the connection.");
        for (var isOver = false; !isOver;)
        {
            await stream.WaitToReadAsync().ConfigureAwait(false);
            if (!stream.TryRead(out var item))
            {
                continue;
            }

            isOver = item.IsLast;
            switch (item.Kind)
            {
                case Http2ItemKind.Data:
                    length -= item.Memory.Length;
                    stream.ConsumeData(item.Memory.Length, mayGrow: true);
                    break;
                case Http2ItemKind.Head:
                    stream.ConsumeBlock();
                    break;
                case Http2ItemKind.Failed:
                    throw new InvalidOperationException($"The service failed: {stream.Failure}.");
                default:
                    break;
            }
        }

        stream.Release();
        ThrowUnlessAll(length);
    }

    private static void ThrowUnlessAll(int missing)
    {
        if (missing != 0)
        {
            throw new InvalidOperationException($"{missing} bytes of an answer are missing.");
        }
    }
}
