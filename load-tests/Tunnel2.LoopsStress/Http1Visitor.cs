using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoopsStress;

/// <summary>A visitor by HTTP/1.1: asks one name after the other or the same again, one request at a time or many at once, reads slowly
/// or fast, leaves in the middle.</summary>
internal sealed class Http1Visitor(bool isTls, int seed, StressTunnel tunnel, Tally tally)
    : Visitor(isTls ? "HTTP/1.1 over TLS" : "HTTP/1.1", seed, tunnel, tally)
{
    protected override async Task VisitAsync(CancellationToken stop)
    {
        await using var connection = isTls
            ? await RawHttpClient.ConnectTlsAsync(Https, "web.localhost", cancellationToken: stop)
            : await RawHttpClient.ConnectAsync(Http, Random.Next(4) == 0 ? 8_000 : 0, stop);
        string[] names = Random.Next(2) == 0 ? [Tunnel.Names[Random.Next(Tunnel.Names.Count)]] : [.. Tunnel.Names];
        for (var turns = Random.Next(1, 25); turns > 0 && !stop.IsCancellationRequested; turns--)
        {
            var count = Random.Next(3) == 0 ? Random.Next(2, 9) : 1;
            var questions = Enumerable.Range(0, count).Select(_ => Question.Draw(Random, names)).ToArray();

            // Written beside the reading: the answers may be more than the visitor may hold.
            var writing = WriteAsync(connection, questions);
            var isGone = await ReadAsync(connection, questions).WaitAsync(Patience, CancellationToken.None);
            if (isGone)
            {
                await writing.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                return;
            }

            await writing.WaitAsync(Patience, CancellationToken.None);
        }

        if (Random.Next(2) == 0)
        {
            await connection.CloseAsync(CancellationToken.None).WaitAsync(Patience, CancellationToken.None);
        }
    }

    private static async Task WriteAsync(RawHttpClient connection, Question[] questions)
    {
        using var all = new MemoryStream();
        foreach (var question in questions)
        {
            var method = question.Up > 0 ? "POST" : "GET";
            var framing = question.IsChunked ? "Transfer-Encoding: chunked\r\n" : $"Content-Length: {question.Up}\r\n";
            framing = question.Up == 0 ? "" : framing;
            all.Write(Encoding.ASCII.GetBytes($"{method} {question.Target} HTTP/1.1\r\nHost: {question.Host}\r\n{framing}\r\n"));
            if (question.Up > 0 && question.IsChunked)
            {
                all.Write(Encoding.ASCII.GetBytes($"{question.Up:x}\r\n"));
                all.Write(question.Body());
                all.Write("\r\n0\r\n\r\n"u8);
            }
            else
            {
                all.Write(question.Body());
            }
        }

        await connection.WriteAsync(all.ToArray(), CancellationToken.None);
    }

    /// <returns>Whether either side has left.</returns>
    private async Task<bool> ReadAsync(RawHttpClient connection, Question[] questions)
    {
        foreach (var question in questions)
        {
            if (Random.Next(60) == 0)
            {
                Leave(connection);
                return true;
            }

            RawHttpHead head;
            try
            {
                head = await connection.ReadFinalHeadAsync(CancellationToken.None);
            }
            catch (RawConnectionEndedException)
            {
                Tally.Failed(Kind, "ended before the answer");
                return true;
            }

            if (await ReadBodyAsync(connection, question, head) is not { } body)
            {
                return true;
            }

            Check(question, head.StatusCode, head["Tunnel2-Error"], body);
            if (head["Connection"] == "close")
            {
                return true;
            }
        }

        return false;
    }

    private async Task<byte[]?> ReadBodyAsync(RawHttpClient connection, Question question, RawHttpHead head)
    {
        var reader = connection.OpenBody(head, question.Up > 0 ? "POST" : "GET");
        var isSlow = Random.Next(6) == 0;
        var leaves = Random.Next(40) == 0;
        using var content = new MemoryStream();
        var buffer = new byte[isSlow ? 1_500 : 16_000];
        while (await reader.ReadAsync(buffer, CancellationToken.None) is > 0 and var count)
        {
            content.Write(buffer, 0, count);
            if (leaves)
            {
                Leave(connection);
                return null;
            }

            if (isSlow && Random.Next(8) == 0)
            {
                await Task.Delay(Random.Next(1, 15), CancellationToken.None);
            }
        }

        if (reader.Ending == ConnectionEnding.Complete)
        {
            return content.ToArray();
        }

        // Cut short, and it says so; what came is right all the same.
        if (head.StatusCode == 200 && !question.Answer().AsSpan().StartsWith(content.ToArray()))
        {
            Tally.Wrong($"{Kind}: {question.Host}{question.Target} got other bytes before it was cut");
        }

        Tally.Failed(Kind, $"cut by {reader.Ending}");
        return null;
    }

    private void Leave(RawHttpClient connection)
    {
        Tally.Failed(Kind, "left");
        if (Random.Next(2) == 0)
        {
            connection.Reset();
        }
        else
        {
            connection.Socket.Close();
        }
    }
}
