using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.AspNetCore.Http;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Fronts.Http1;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

public sealed class Http1RequestBodyTests
{
    private const string Next = "GET /next";

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(5)]
    [InlineData(16)]
    [InlineData(1000)]
    public async Task Every_split_of_a_chunked_body_gives_the_same_bytes_and_leaves_the_next_request(int segment)
    {
        foreach (var (coded, plain, trailers) in new[]
        {
            ("0\r\n\r\n", "", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello", ""),
            ("5;a=\"b;\\\"c\"\r\nhello\r\n1\r\n \r\n0005\r\nworld\r\n00\r\n\r\n", "hello world", ""),
            ("3\r\nabc\r\n0\r\nX-Sum: 1\r\nx-b:  2 \r\n\r\n", "abc", "X-Sum: 1\nx-b: 2\n"),
            ("0\r\nX: 1\r\nConnection: x\r\nX-Forwarded-For: y\r\n\r\n", "", "X: 1\n"),
        })
        {
            var pipe = Filled(coded + Next, segment);
            var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
            body.Begin(BodyKind.Chunked, 0, long.MaxValue);
            Assert.Equal(plain, await ReadAsync(body));
            Assert.True(body.IsFinished);
            Assert.Equal(trailers, Describe(body.Trailers));
            Assert.Equal(Next, await RestAsync(pipe.Reader));
            body.Release();
        }
    }

    [Fact]
    public void Random_chunks_in_random_pieces_are_the_body()
    {
        var cases =
            from sizes in Gen.Choose(1, 40).ListOf()
            from segments in Gen.Choose(1, 30).NonEmptyListOf()
            select (Sizes: sizes.ToArray(), Segments: segments.ToArray());
        Prop.ForAll(Arb.From(cases), sample =>
        {
            var plain = new StringBuilder();
            var coded = new StringBuilder();
            foreach (var size in sample.Sizes)
            {
                var piece = new string([.. Enumerable.Range(0, size).Select(i => (char)('a' + ((plain.Length + i) % 26)))]);
                plain.Append(piece);
                coded.Append($"{size:x}\r\n{piece}\r\n");
            }

            var pipe = Filled(coded + "0\r\n\r\n" + Next, sample.Segments);
            var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
            body.Begin(BodyKind.Chunked, 0, long.MaxValue);
            Assert.Equal(plain.ToString(), ReadAsync(body).GetAwaiter().GetResult());
            Assert.Equal(Next, RestAsync(pipe.Reader).GetAwaiter().GetResult());
        }).QuickCheckThrowOnFailure();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(100)]
    public async Task A_declared_length_ends_the_body_there(int segment)
    {
        var pipe = Filled("hello world" + Next, segment);
        var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
        body.Begin(BodyKind.Length, 11, long.MaxValue);
        Assert.Equal("hello world", await ReadAsync(body));
        Assert.Equal(Next, await RestAsync(pipe.Reader));
    }

    [Fact]
    public async Task The_end_comes_with_the_last_bytes()
    {
        foreach (var (kind, text) in new[] { (BodyKind.Length, "hello"), (BodyKind.Chunked, "5\r\nhello\r\n0\r\n\r\n") })
        {
            var body = new Http1RequestBody(Filled(text, 100).Reader, Http1Limits.Default);
            body.Begin(kind, 5, long.MaxValue);
            var read = await body.ReadAsync();
            Assert.Equal(5, read.Buffer.Length);
            Assert.True(read.IsCompleted);
            Assert.False(body.IsFinished);
            body.AdvanceTo(read.Buffer.End);
            Assert.True(body.IsFinished);
        }
    }

    [Fact]
    public async Task What_was_not_taken_is_shown_again()
    {
        foreach (var (kind, text) in new[] { (BodyKind.Length, "hello world"), (BodyKind.Chunked, "b\r\nhello world\r\n0\r\n\r\n") })
        {
            var pipe = Filled(text + Next, 4);
            var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
            body.Begin(kind, 11, long.MaxValue);
            var taken = new StringBuilder();
            while (true)
            {
                var read = await body.ReadAsync();
                var one = read.Buffer.Slice(0, 1);
                taken.Append((char)one.FirstSpan[0]);
                body.AdvanceTo(one.End);
                if (body.IsFinished)
                {
                    break;
                }
            }

            Assert.Equal("hello world", taken.ToString());
            Assert.Equal(Next, await RestAsync(pipe.Reader));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(500)]
    public async Task Tiny_chunks_that_came_together_are_one_read(int size)
    {
        const int Length = 60_000;
        var plain = new string([.. Enumerable.Range(0, Length).Select(static i => (char)('a' + (i % 26)))]);
        var coded = string.Concat(plain.Chunk(size).Select(static chunk => $"{chunk.Length:x}\r\n{new string(chunk)}\r\n"));
        foreach (var (end, trailers) in new[] { ("0\r\n\r\n", ""), ("0\r\nX-Sum: 1\r\n\r\n", "X-Sum: 1\n") })
        {
            var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: 0));
            await pipe.Writer.WriteAsync(Encoding.Latin1.GetBytes(coded + end + Next));
            var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
            body.Begin(BodyKind.Chunked, 0, Length);
            var text = new StringBuilder();
            var reads = 0;
            for (var isLast = false; !isLast;)
            {
                var read = await body.ReadAsync();
                isLast = read.IsCompleted;
                text.Append(Encoding.Latin1.GetString(read.Buffer.ToArray()));

                // A reader that sees the end looks for trailers right then.
                Assert.Equal(isLast ? trailers : "", Describe(body.Trailers));
                body.AdvanceTo(read.Buffer.End);
                reads++;
            }

            Assert.True(body.IsFinished);

            Assert.Equal(plain, text.ToString());
            Assert.InRange(reads, 1, 10);
            Assert.Equal(trailers, Describe(body.Trailers));
            Assert.Equal(Next, await RestAsync(pipe.Reader));
            body.Release();
        }
    }

    [Fact]
    public async Task What_was_not_taken_of_tiny_chunks_is_shown_again()
    {
        const string Coded = "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n3\r\nefg\r\n0\r\n\r\n";
        foreach (var take in new[] { 0, 1, 2, 5 })
        {
            var pipe = Filled(Coded + Next, 100);
            var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
            body.Begin(BodyKind.Chunked, 0, long.MaxValue);
            var first = await body.ReadAsync();
            Assert.Equal("abcdefg", Encoding.Latin1.GetString(first.Buffer.ToArray()));
            body.AdvanceTo(first.Buffer.GetPosition(take));
            Assert.False(body.IsFinished);
            Assert.True(body.TryRead(out var again));
            Assert.Equal("abcdefg"[take..], Encoding.Latin1.GetString(again.Buffer.ToArray()));
            body.AdvanceTo(again.Buffer.Start);
            Assert.Equal("abcdefg"[take..], await ReadAsync(body));
            Assert.True(body.IsFinished);
            Assert.Equal(Next, await RestAsync(pipe.Reader));
            body.Release();
        }
    }

    [Theory]
    [InlineData("1\r\na\r\n1\r\nb\r\nzz\r\n", 400)]
    [InlineData("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\nd\r\n0\r\n\r\n", 413)]
    public async Task What_is_wrong_behind_tiny_chunks_is_found(string coded, int status)
    {
        var body = new Http1RequestBody(Filled(coded, 100).Reader, Http1Limits.Default);
        body.Begin(BodyKind.Chunked, 0, 3);
        var exception = await Assert.ThrowsAsync<BadHttpRequestException>(() => ReadAsync(body));
        Assert.Equal(status, exception.StatusCode);
        body.Release();
    }

    [Theory]
    [InlineData("zz\r\n")]
    [InlineData("5\r\nhelloX")]
    [InlineData("5\nhello")]
    [InlineData("+5\r\nhello\r\n")]
    [InlineData("0x5\r\nhello\r\n")]
    [InlineData("ffffffffffffffff\r\n")]
    [InlineData("5 \r\nhello\r\n")]
    [InlineData("0\r\nContent-Length: 1\r\n\r\n")]
    [InlineData("0\r\nX : 1\r\n\r\n")]
    public async Task A_coding_that_breaks_is_a_bad_request(string text)
    {
        foreach (var segment in new[] { 1, 100 })
        {
            var body = new Http1RequestBody(Filled(text, segment).Reader, Http1Limits.Default);
            body.Begin(BodyKind.Chunked, 0, long.MaxValue);
            var exception = await Assert.ThrowsAsync<BadHttpRequestException>(() => ReadAsync(body));
            Assert.Equal(400, exception.StatusCode);
            body.Release();
        }
    }

    [Fact]
    public async Task More_chunks_than_allowed_are_too_large_a_body()
    {
        var body = new Http1RequestBody(Filled("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", 100).Reader, Http1Limits.Default);
        body.Begin(BodyKind.Chunked, 0, 9);
        var exception = await Assert.ThrowsAsync<BadHttpRequestException>(() => ReadAsync(body));
        Assert.Equal(413, exception.StatusCode);
    }

    [Theory]
    [InlineData(nameof(BodyKind.Length), "hell")]
    [InlineData(nameof(BodyKind.Chunked), "5\r\nhello\r\n0\r\n")]
    [InlineData(nameof(BodyKind.Chunked), "")]
    public async Task A_connection_that_ends_within_a_body_is_no_end_of_it(string kind, string text)
    {
        var pipe = Filled(text, 100);
        await pipe.Writer.CompleteAsync();
        var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
        body.Begin(Enum.Parse<BodyKind>(kind), 5, long.MaxValue);
        await Assert.ThrowsAsync<IOException>(() => ReadAsync(body));
    }

    [Fact]
    public async Task A_cancelled_read_loses_nothing()
    {
        var pipe = new Pipe();
        var body = new Http1RequestBody(pipe.Reader, Http1Limits.Default);
        body.Begin(BodyKind.Chunked, 0, long.MaxValue);
        var reading = body.ReadAsync();
        body.CancelPendingRead();
        var read = await reading;
        Assert.True(read.IsCanceled);
        body.AdvanceTo(read.Buffer.Start);
        await pipe.Writer.WriteAsync("5\r\nhello\r\n0\r\n\r\n"u8.ToArray());
        Assert.Equal("hello", await ReadAsync(body));
    }

    private static Pipe Filled(string text, params int[] segments)
    {
        // Every flush of a segment's own memory makes the reader see segments of that length.
        var pipe = new Pipe(new PipeOptions(minimumSegmentSize: 1, pool: new TinyBlocks(), pauseWriterThreshold: 0));
        for (int i = 0, turn = 0; i < text.Length; turn++)
        {
            var length = Math.Min(segments[turn % segments.Length], text.Length - i);
            Encoding.Latin1.GetBytes(text.AsSpan(i, length), pipe.Writer.GetSpan(1));
            pipe.Writer.Advance(length);
            i += length;

            // The rest of the block is filled up by no read: the next piece has a block of its own.
            pipe.Writer.GetSpan(TinyBlocks.Length);
        }

        pipe.Writer.FlushAsync().AsTask().GetAwaiter().GetResult();
        return pipe;
    }

    private static async Task<string> ReadAsync(Http1RequestBody body)
    {
        var text = new StringBuilder();
        while (true)
        {
            var read = await body.ReadAsync();
            text.Append(Encoding.Latin1.GetString(read.Buffer.ToArray()));
            body.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return text.ToString();
            }
        }
    }

    private static async Task<string> RestAsync(PipeReader reader)
    {
        var read = await reader.ReadAsync();
        var text = Encoding.Latin1.GetString(read.Buffer.ToArray());
        reader.AdvanceTo(read.Buffer.End);
        return text;
    }

    private static string Describe(TrailerSection? trailers)
    {
        if (trailers is null)
        {
            return "";
        }

        var bytes = new byte[4096];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginTrailers();
        trailers.Write(ref writer, new RequestHeadParser(), default, null);
        HeaderBlock.TryRead(bytes.AsSpan(0, writer.Complete()), out var block);
        var text = new StringBuilder();
        foreach (var field in block.Fields)
        {
            text.Append(Encoding.Latin1.GetString(field.Name)).Append(": ").Append(Encoding.Latin1.GetString(field.Value)).Append('\n');
        }

        return text.ToString();
    }

    /// <summary>Gives a new block each time a whole one is asked for.</summary>
    private sealed class TinyBlocks : MemoryPool<byte>
    {
        public const int Length = 1024;

        public override int MaxBufferSize => Length;

        public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => new Block();

        protected override void Dispose(bool disposing)
        {
            // The collector has them.
        }

        private sealed class Block : IMemoryOwner<byte>
        {
            public Memory<byte> Memory { get; } = new byte[Length];

            public void Dispose()
            {
                // The collector has it.
            }
        }
    }
}
