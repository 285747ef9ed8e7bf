using System.Globalization;

namespace Tunnel2.TestUtilities.Tests.TestBackend;

public sealed class TimedTests(BackendFixture backend) : IClassFixture<BackendFixture>
{
    [Fact]
    public async Task A_delay_is_never_too_short()
    {
        var start = TimeProvider.System.GetTimestamp();
        Assert.Equal("waited 50 ms\n", await backend.Http.GetStringAsync(backend.PlainUri("delay/50")));
        Assert.True(TimeProvider.System.GetElapsedTime(start).TotalMilliseconds >= 50);
    }

    [Fact]
    public async Task A_stream_sends_each_chunk_on_its_own_and_in_time()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        var start = TimeProvider.System.GetTimestamp();
        await client.SendRequestAsync("/stream/10/100/20");
        var body = client.OpenBody(await client.ReadHeadAsync());
        var buffer = new byte[1000];
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal(100, await body.ReadAsync(buffer));
            PatternBytes.Verify(buffer.AsSpan(0, 100), i * 100);
            Assert.True(TimeProvider.System.GetElapsedTime(start).TotalMilliseconds >= i * 20);
        }

        Assert.Equal(0, await body.ReadAsync(buffer));
        Assert.Equal((ConnectionEnding.Complete, 10), (body.Ending, body.Chunks));
        // Steps are counted from the start, so lateness does not add up.
        Assert.InRange(TimeProvider.System.GetElapsedTime(start).TotalMilliseconds, 180, 1500);
    }

    [Fact]
    public async Task Who_gathers_is_answered_when_all_are_there_and_who_has_left_does_not_count()
    {
        const string Path = "/gather/3";
        var server = backend.Plain;
        await using var left = await RawHttpClient.ConnectAsync(server.EndPoint);
        await left.SendRequestAsync($"{Path}?id=all");
        await server.WaitForArrivalAsync(Path);
        left.Reset();
        await server.WaitForCompletionAsync(Path);
        await using var first = await RawHttpClient.ConnectAsync(server.EndPoint);
        await using var second = await RawHttpClient.ConnectAsync(server.EndPoint);
        await using var last = await RawHttpClient.ConnectAsync(server.EndPoint);
        await first.SendRequestAsync($"{Path}?id=all&name=first");
        await second.SendRequestAsync($"{Path}?id=all&name=second");
        await server.WaitForArrivalAsync(Path, 3);

        // Three have come, and two of them are there.
        Assert.Equal(1, server.CountOf(Path).Completed);
        Assert.Equal("last", (await last.ExchangeAsync($"{Path}?id=all&name=last")).Body.Text);
        Assert.Equal("first", (await first.ReadBodyAsync(await first.ReadHeadAsync())).Text);
        Assert.Equal("second", (await second.ReadBodyAsync(await second.ReadHeadAsync())).Text);
    }

    [Fact]
    public async Task An_answer_that_begins_at_once_ends_when_all_are_there()
    {
        await using var first = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        await first.SendRequestAsync("/gather/2?id=begins&begins=1&name=end");
        await first.ReadThroughAsync("waiting\n");
        await using var second = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        Assert.Equal("second", (await second.ExchangeAsync("/gather/2?id=begins&name=second")).Body.Text);
        await first.ReadThroughAsync("end");
    }

    [Fact]
    public async Task Events_carry_ids_and_the_time_they_were_sent_at()
    {
        var before = TimeProvider.System.GetUtcNow().ToUnixTimeMilliseconds();
        using var response = await backend.Http.GetAsync(backend.PlainUri("sse?count=3&interval=5"));
        Assert.Equal("text/event-stream", response.Content.Headers.ContentType!.ToString());
        var events = (await response.Content.ReadAsStringAsync()).Split("\n\n", StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(3, events.Length);
        for (var i = 0; i < events.Length; i++)
        {
            Assert.StartsWith($"id: {i}\ndata: ", events[i], StringComparison.Ordinal);
            var sentAt = long.Parse(events[i].Split(": ")[^1], CultureInfo.InvariantCulture);
            Assert.InRange(sentAt, before + (5 * i), before + 10_000);
        }
    }
}
