using Tunnel2.Http1;
using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Budgets.Tests.Http1;

public sealed class ParserAllocationTests
{
    private static readonly byte[] _request = Latin1.Bytes(
        "POST /api/items?id=42 HTTP/1.1\r\nHost: web.localhost:12000\r\nUser-Agent: a browser with a long name (X11; Linux x86_64)\r\n"
        + "Accept: */*\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: keep-alive, x-private\r\nX-Private: 1\r\n"
            + "Expect: 100-continue\r\n"
        + "Upgrade: h2c\r\nCookie: a=1; b=2\r\nTransfer-Encoding: chunked\r\n\r\n");

    private static readonly byte[] _response = Latin1.Bytes(
        "HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nContent-Length: 5\r\n"
        + "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: keep-alive\r\n\r\n");

    private static readonly byte[] _refused = Latin1.Bytes("GET / HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\n\r\n");

    private static readonly byte[] _chunked = Latin1.Bytes("5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n");

    private readonly RequestHeadParser _requests = new();
    private readonly ResponseHeadParser _responses = new();
    private readonly byte[] _buffer = new byte[4096];
    private ChunkedDecoder _decoder = new(Http1Limits.Default);

    [Fact]
    public void A_warm_parser_and_writer_allocate_nothing()
    {
        for (int i = 0; i < 200; i++)
        {
            RunAll();
        }

        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1000; i++)
        {
            RunAll();
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    private void RunAll()
    {
        _requests.Reset();
        Require(_requests.Parse(_request.AsSpan(0, 100), out _) == ParseStatus.NeedMore);
        Require(_requests.Parse(_request, out _) == ParseStatus.Done);
        Require(Forward(_request) > 0);

        _responses.Reset(_requests.KnownMethod);
        Require(_responses.Parse(_response, out int consumed) == ParseStatus.Done && consumed == _response.Length);
        Require(_responses.ContentLength == 5 && _responses.Fields.Length == 6);

        _requests.Reset();
        Require(_requests.Parse(_refused, out _) == ParseStatus.Invalid);

        _decoder.Reset();
        int body = 0;
        ReadOnlySpan<byte> input = _chunked;
        while (true)
        {
            ChunkedStatus status = _decoder.Decode(input, out consumed, out _, out int length);
            body += length;
            if (status == ChunkedStatus.Done)
            {
                break;
            }

            Require(status == ChunkedStatus.Data);
            input = input[consumed..];
        }

        Require(body == 11 && _decoder.Trailers.Length == 1);
    }

    private int Forward(ReadOnlySpan<byte> message)
    {
        var writer = new HeadWriter(_buffer);
        writer.WriteRequestLine(_requests.Method.Of(message), _requests.PathAndQuery.Of(message));
        foreach (ref readonly FieldRange field in _requests.Fields)
        {
            if (!_requests.IsHopByHop(message, in field))
            {
                writer.WriteField(field.Name(message), field.Value(message));
            }
        }

        writer.WriteField("Content-Length"u8, 1234567);
        Require(writer.WriteEnd() == HeadWriteStatus.Ok);
        return writer.Written + ChunkedEncoder.WriteHeader(_buffer.AsSpan(writer.Written), 1000);
    }

    private static void Require(bool condition)
    {
        if (!condition)
        {
            Assert.Fail("The message was not read as it should be.");
        }
    }
}
