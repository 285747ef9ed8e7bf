using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;

namespace Tunnel2.LoopsStress;

/// <summary>A visitor by HTTP/2 over TLS: streams to several names on one connection, some of which it cancels.</summary>
internal sealed class Http2Visitor(int seed, StressTunnel tunnel, Tally tally) : Visitor("HTTP/2 over TLS", seed, tunnel, tally)
{
    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made for the run; no other program can know it.")]
    protected override async Task VisitAsync(CancellationToken stop)
    {
        using var client = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(Https, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        })
        { BaseAddress = new Uri("https://web.localhost"), Timeout = Timeout.InfiniteTimeSpan };
        for (var turns = Random.Next(1, 30); turns > 0 && !stop.IsCancellationRequested; turns--)
        {
            var asking = Enumerable.Range(0, Random.Next(1, 9))
                .Select(_ => (Question: Question.Draw(Random, Tunnel.Names), Leaves: Random.Next(15) == 0 ? Random.Next(1, 20) : 0))
                .ToArray();
            await Task.WhenAll(asking.Select(one => AskAsync(client, one.Question, one.Leaves)))
                .WaitAsync(Patience, CancellationToken.None);
        }
    }

    private async Task AskAsync(HttpClient client, Question question, int leavesAfter)
    {
        using var leaving = leavesAfter == 0 ? new CancellationTokenSource() : new CancellationTokenSource(leavesAfter);
        using var request = new HttpRequestMessage(question.Up > 0 ? HttpMethod.Post : HttpMethod.Get, question.Target)
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = question.Up > 0 ? new ByteArrayContent(question.Body()) : null,
        };
        request.Headers.Host = question.Host;
        try
        {
            using var response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, leaving.Token);
            var body = await response.Content.ReadAsByteArrayAsync(leaving.Token);
            var code = response.Headers.TryGetValues("Tunnel2-Error", out var error) ? error.First() : null;
            Check(question, (int)response.StatusCode, code, body);
        }
        catch (OperationCanceledException) when (leaving.IsCancellationRequested)
        {
            Tally.Failed(Kind, "left");
        }
        catch (Exception exception) when (exception is HttpRequestException or HttpIOException or IOException)
        {
            Tally.Failed(Kind, exception is HttpRequestException { HttpRequestError: var error } ? $"{error}" : exception.GetType().Name);
        }
    }
}
