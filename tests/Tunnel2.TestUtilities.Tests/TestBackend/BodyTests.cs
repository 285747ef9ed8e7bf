using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text.Json;

namespace Tunnel2.TestUtilities.Tests.TestBackend;

public sealed class BodyTests(BackendFixture backend) : IClassFixture<BackendFixture>
{
    [Theory]
    [InlineData(0)]
    [InlineData(1024)]
    [InlineData(256 * 1024)]
    [InlineData(20_000_000)]
    public async Task Bytes_are_the_pattern_with_its_length_and_hash(int length)
    {
        using var response = await backend.Http.GetAsync(backend.PlainUri($"bytes/{length}"));
        Assert.Equal(length, response.Content.Headers.ContentLength);
        var body = await response.Content.ReadAsByteArrayAsync();
        PatternBytes.Verify(body, 0);
        Assert.Equal(length, body.Length);
        var hash = await backend.Http.GetStringAsync(backend.PlainUri($"hash/{length}"));
        Assert.Equal(Convert.ToHexStringLower(SHA256.HashData(body)), hash);
    }

    [Theory]
    [InlineData("bytes=0-0", 0, 1)]
    [InlineData("bytes=9999999990-", 9_999_999_990, 10)]
    [InlineData("bytes=-5", 9_999_999_995, 5)]
    [InlineData("bytes=5000000000-5000999999", 5_000_000_000, 1_000_000)]
    [InlineData("bytes=9999999999-99999999999", 9_999_999_999, 1)]
    public async Task A_range_of_many_gigabytes_is_just_that_range(string range, long start, int length)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, backend.PlainUri("bytes/10000000000"));
        request.Headers.TryAddWithoutValidation("Range", range);
        using var response = await backend.Http.SendAsync(request);
        Assert.Equal(HttpStatusCode.PartialContent, response.StatusCode);
        Assert.Equal($"bytes {start}-{start + length - 1}/10000000000", response.Content.Headers.ContentRange!.ToString());
        var body = await response.Content.ReadAsByteArrayAsync();
        PatternBytes.Verify(body, start);
        Assert.Equal(length, body.Length);
    }

    [Fact]
    public async Task A_range_beyond_the_end_is_refused_with_the_length()
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, backend.PlainUri("bytes/100"));
        request.Headers.Range = new RangeHeaderValue(100, null);
        using var response = await backend.Http.SendAsync(request);
        Assert.Equal(HttpStatusCode.RequestedRangeNotSatisfiable, response.StatusCode);
        Assert.Equal("bytes */100", response.Content.Headers.ContentRange!.ToString());
    }

    [Fact]
    public async Task A_range_of_another_version_is_ignored_and_a_known_version_not_sent_again()
    {
        using var ifRange = new HttpRequestMessage(HttpMethod.Get, backend.PlainUri("bytes/100"));
        ifRange.Headers.Range = new RangeHeaderValue(0, 9);
        ifRange.Headers.IfRange = new RangeConditionHeaderValue("\"another\"");
        using var whole = await backend.Http.SendAsync(ifRange);
        Assert.Equal((HttpStatusCode.OK, 100), (whole.StatusCode, whole.Content.Headers.ContentLength));
        using var ifNoneMatch = new HttpRequestMessage(HttpMethod.Get, backend.PlainUri("bytes/100"));
        ifNoneMatch.Headers.IfNoneMatch.Add(whole.Headers.ETag!);
        using var unchanged = await backend.Http.SendAsync(ifNoneMatch);
        Assert.Equal(HttpStatusCode.NotModified, unchanged.StatusCode);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Echo_keeps_length_and_type(bool chunked)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, backend.PlainUri("echo"));
        var sent = new byte[3_000_000];
        PatternBytes.Fill(sent, 0);
        request.Content = new ByteArrayContent(sent);
        request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/x-test");
        request.Headers.TransferEncodingChunked = chunked;
        using var response = await backend.Http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        Assert.Equal(chunked ? null : sent.Length, response.Content.Headers.ContentLength);
        Assert.Equal("application/x-test", response.Content.Headers.ContentType!.MediaType);
        Assert.Equal(sent, await response.Content.ReadAsByteArrayAsync());
    }

    [Fact]
    public async Task Echo_sends_each_piece_back_before_the_next_comes()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        await client.SendRequestAsync("/echo", method: "POST", fields: "Transfer-Encoding: chunked\r\n");
        var body = client.OpenBody(await client.ReadHeadAsync());
        var buffer = new byte[100];
        foreach (var piece in new[] { "one", "two", "three" })
        {
            await client.WriteAsync($"{piece.Length:x}\r\n{piece}\r\n");
            Assert.Equal(piece.Length, await body.ReadAsync(buffer));
        }

        await client.WriteAsync("0\r\n\r\n");
        Assert.Equal(0, await body.ReadAsync(buffer));
        Assert.Equal(ConnectionEnding.Complete, body.Ending);
    }

    [Theory]
    [InlineData("sink?hash=1")]
    [InlineData("slow-sink?hash=1&rate=100000000")]
    [InlineData("expect?hash=1")]
    public async Task Sinks_count_and_hash(string path)
    {
        var sent = new byte[1_234_567];
        PatternBytes.Fill(sent, 0);
        using var content = new ByteArrayContent(sent);
        using var response = await backend.Http.PostAsync(backend.PlainUri(path), content);
        var result = JsonDocument.Parse(await response.Content.ReadAsStringAsync()).RootElement;
        Assert.Equal(sent.Length, result.GetProperty("bytes").GetInt64());
        Assert.Equal(Convert.ToHexStringLower(SHA256.HashData(sent)), result.GetProperty("sha256").GetString());
    }

    [Fact]
    public async Task The_slow_sink_keeps_its_rate()
    {
        using var content = new ByteArrayContent(new byte[30_000]);
        var start = TimeProvider.System.GetTimestamp();
        using var response = await backend.Http.PostAsync(backend.PlainUri("slow-sink?rate=100000"), content);
        Assert.InRange(TimeProvider.System.GetElapsedTime(start).TotalMilliseconds, 240, 3000);
        Assert.Equal("{\"bytes\":30000}", await response.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task Uploads_are_listed_part_by_part()
    {
        using var form = new MultipartFormDataContent();
        form.Add(new StringContent("value"), "field");
        var file = new byte[500_000];
        PatternBytes.Fill(file, 0);
        form.Add(new ByteArrayContent(file), "file", "a b.bin");
        using var response = await backend.Http.PostAsync(backend.PlainUri("upload"), form);
        var parts = JsonDocument.Parse(await response.Content.ReadAsStringAsync()).RootElement;
        Assert.Equal(2, parts.GetArrayLength());
        Assert.Equal("field", parts[0].GetProperty("name").GetString());
        Assert.Equal(5, parts[0].GetProperty("size").GetInt64());
        Assert.Equal("a b.bin", parts[1].GetProperty("filename").GetString());
        Assert.Equal(PatternBytes.Sha256Hex(file.Length), parts[1].GetProperty("sha256").GetString());
    }

    [Theory]
    [InlineData("reject=1", 413)]
    [InlineData("reject=417", 417)]
    public async Task A_rejection_comes_before_the_body_and_without_a_continue(string query, int status)
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        await client.SendRequestAsync($"/expect?{query}", method: "POST", fields: "Content-Length: 1000000\r\nExpect: 100-continue\r\n");
        Assert.Equal(status, (await client.ReadHeadAsync()).StatusCode);
    }

    [Fact]
    public async Task An_expected_continue_is_sent_before_the_body()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        await client.SendRequestAsync("/expect", method: "POST", fields: "Content-Length: 3\r\nExpect: 100-continue\r\n");
        Assert.Equal(100, (await client.ReadHeadAsync()).StatusCode);
        await client.WriteAsync("abc");
        var head = await client.ReadHeadAsync();
        Assert.Equal("{\"bytes\":3}", (await client.ReadBodyAsync(head)).Text);
    }
}
