using Tunnel2.Http1;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Reads and writes the heads of a request and a response that never were, and aborts an exchange that never was. What they need is loaded
/// then, and compiled where it could not be compiled ahead, while the agent waits for its server, and not when the first visitor waits or
/// when no descriptor is left to load it with. It sends nothing and leaves nothing.
/// </summary>
internal static class Rehearsal
{
    /// <summary>Rehearses on the thread pool.</summary>
    public static void Start(RequestHeadEncoder heads) =>
        ThreadPool.UnsafeQueueUserWorkItem(static encoder => Run(encoder), heads, preferLocal: false);

    /// <summary>Rehearses once.</summary>
    /// <returns>Whether all was understood; of interest to a test.</returns>
    internal static bool Run(RequestHeadEncoder heads)
    {
        Span<byte> block = stackalloc byte[512];
        Span<byte> head = stackalloc byte[512];
        var request = new HeaderBlockWriter(block);
        request.BeginRequest(HeaderBlockFlags.None, "GET"u8, "http"u8, "a.localhost"u8, "/"u8);
        request.AddField("Host"u8, "a.localhost"u8);
        request.AddField("Accept"u8, "*/*"u8);
        request.AddField("X-Forwarded-For"u8, "127.0.0.1"u8);
        if (HeaderBlock.TryRead(block[..request.Complete()], out var read) != ProtocolError.None
            || RequestPlan.Read(read, ended: true) is not { IsValid: true } plan
            || heads.Write(read, plan.Framing, head, out _) != HeadWriteStatus.Ok)
        {
            return false;
        }

        var answer = "HTTP/1.1 200 OK\r\nServer: none\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain\r\n"u8
            + "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n"u8;
        var parser = new ResponseHeadParser();
        parser.Reset(plan.Method);
        if (parser.Parse(answer, out _) != ParseStatus.Done)
        {
            return false;
        }

        var response = new HeaderBlockWriter(block);
        ResponseHeadEncoder.WriteHead(ref response, parser, answer);
        return response.Complete() > 0 && !response.Overflowed && Abort();
    }

    private static bool Abort()
    {
        var id = new StreamId(1);
        var exchange = new ExchangeConnection(byReset: false);
        exchange.Begin(id);
        exchange.Abort(id);
        return exchange.End(out _);
    }
}
