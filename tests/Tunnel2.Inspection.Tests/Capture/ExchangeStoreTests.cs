using System.Text;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Tests.Capture;

public sealed class ExchangeStoreTests
{
    [Fact]
    public void Heads_and_bodies_are_kept_as_they_were_on_the_wire()
    {
        var store = Sample.Store();
        var capture = Sample.Asked(store, "POST", "/a?b", "body", ("Z-Last", "1"), ("a-first", "2"), ("Z-Last", "\u00ff"))
            .Answered("HTTP/1.1 201 Made It\r\nB: 2\r\nA:1\r\nB: 3", Sample.Bytes("answer"));

        var request = capture.Request;
        Assert.Equal("POST /a?b", $"{HeadText.Of(request.Method)} {HeadText.Of(request.Target)}");
        Assert.Equal(["Z-Last=1", "a-first=2", "Z-Last=\u00ff"], Texts(request.Fields));
        var response = capture.Response;
        Assert.Equal((201, "Made It"), (response.Status, HeadText.Of(response.Reason)));
        Assert.Equal(["B=2", "A=1", "B=3"], Texts(response.Fields));
        Assert.Equal("body", Encoding.ASCII.GetString(capture.RequestBody.ToArray()));
        Assert.Equal("answer", Encoding.ASCII.GetString(capture.ResponseBody.ToArray()));
        Assert.True(capture.IsEnded);
    }

    [Fact]
    public void Trailers_are_kept_in_wire_order_within_the_limit_and_go_with_their_exchange()
    {
        var store = Sample.Store(new InspectionLimits { Exchanges = 1, Bytes = 3000 });
        var capture = Sample.Asked(store);
        var before = store.Bytes;
        capture.OnRequestTrailers(Sample.Trailers(("X-b", "1"), ("a", "2"), ("X-b", "3")));
        capture.OnResponseTrailers(Sample.Trailers(("Sum", "4")));
        capture.OnResponseTrailers(Sample.Trailers(("Later", "5")));
        Assert.Equal(["X-b=1", "a=2", "X-b=3"], Texts(capture.RequestTrailers));
        Assert.Equal(["Sum=4"], Texts(capture.ResponseTrailers));
        Assert.InRange(store.Bytes, before + 1, 3000);
        capture.OnEnded(null, null);

        var next = Sample.Asked(store);
        Assert.Empty(capture.RequestTrailers);
        Assert.Empty(capture.ResponseTrailers);
        next.OnResponseTrailers(Sample.Trailers(("X", new string('x', 5000))));
        Assert.Empty(next.ResponseTrailers);
        Assert.InRange(store.Bytes, 1, 3000);
    }

    [Fact]
    public void A_closed_store_has_nothing_and_takes_nothing()
    {
        var store = Sample.Store();
        var open = Sample.Asked(store);
        store.Close();
        open.OnResponseHead("HTTP/1.1 200 OK\r\n\r\n"u8, 200);
        open.OnResponseBody(new byte[1000]);
        open.OnEnded(null, null);
        Assert.Null(store.Begin(Sample.Block("GET", "/later")));
        Assert.Empty(store.Latest());
        Assert.Equal(0, store.Bytes);
    }

    [Fact]
    public void The_last_exchanges_are_kept_and_those_before_are_gone_whole()
    {
        var store = Sample.Store(new InspectionLimits { Exchanges = 3 });
        for (var i = 0; i < 10; i++)
        {
            Sample.Asked(store, target: $"/{i}").Answered("HTTP/1.1 200 OK");
        }

        Assert.Equal(["/9", "/8", "/7"], store.Latest().Select(capture => HeadText.Of(capture.Request.Target)));
        Assert.Equal(["/8", "/7"], store.Latest(before: 10).Select(capture => HeadText.Of(capture.Request.Target)));
        Assert.Null(store.Find(7));
        Assert.NotNull(store.Find(8));
        Assert.Null(store.Find(0));
        Assert.Null(store.Find(11));
        Assert.Equal((7, 0), store.Lost);
    }

    [Fact]
    public void Bytes_never_exceed_the_limit()
    {
        var random = new Random(42);
        var limits = new InspectionLimits { Exchanges = 50, Bytes = 100_000, BodyBytes = 30_000 };
        var store = Sample.Store(limits);
        var open = new List<ExchangeCapture>();
        for (var i = 0; i < 5000; i++)
        {
            switch (random.Next(4))
            {
                case 0 when store.Begin(Sample.Block("GET", "/" + new string('x', random.Next(3000)))) is { } begun:
                    open.Add(begun);
                    break;
                case 1 when open.Count > 0:
                    open[random.Next(open.Count)].OnRequestBody(new byte[random.Next(20_000)]);
                    break;
                case 2 when open.Count > 0:
                    open[random.Next(open.Count)].OnResponseBody(new byte[random.Next(40_000)]);
                    break;
                case 3 when open.Count > 5:
                    open[0].OnEnded(null, null);
                    open.RemoveAt(0);
                    break;
                default:
                    break;
            }

            Assert.InRange(store.Bytes, 0, limits.Bytes);
            Assert.Equal(store.Latest().Sum(capture => capture.Held), store.Bytes);
        }

        store.Clear();
        Assert.Equal(0, store.Bytes);
        Assert.Empty(store.Latest());
    }

    [Fact]
    public void A_body_is_kept_to_its_limit_and_counted_to_its_end()
    {
        var store = Sample.Store(new InspectionLimits { BodyBytes = 10_000 });
        var capture = Sample.Asked(store);
        var piece = new byte[1000];
        for (var i = 0; i < 25; i++)
        {
            Array.Fill(piece, (byte)i);
            capture.OnResponseBody(piece);
        }

        Assert.Equal(25_000, capture.ResponseBody.Total);
        Assert.True(capture.ResponseBody.IsTruncated);
        var kept = capture.ResponseBody.ToArray();
        Assert.Equal(10_000, kept.Length);
        Assert.All(kept.Chunk(1000).Index(), chunk => Assert.All(chunk.Item, one => Assert.Equal(chunk.Index, one)));
    }

    [Fact]
    public void What_does_not_fit_at_all_is_counted()
    {
        var store = Sample.Store(new InspectionLimits { Bytes = 2000 });
        Assert.Null(store.Begin(Sample.Block("GET", "/" + new string('x', 3000))));
        Assert.Equal((0, 1), store.Lost);
        Assert.NotNull(store.Begin(Sample.Block("GET", "/")));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1000)]
    [InlineData(40_000)]
    public void What_is_reserved_covers_what_is_allocated(int length)
    {
        const int Count = 100;
        var store = Sample.Store();
        var block = Sample.Block("GET", "/", ("Host", "web"), ("Accept", "*/*"));
        var piece = new byte[Math.Min(length, 7000)];
        Fill(1);
        var reserved = store.Bytes;
        var allocated = GC.GetAllocatedBytesForCurrentThread();
        Fill(Count);
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        Assert.InRange(allocated, 1, store.Bytes - reserved);

        void Fill(int count)
        {
            for (var i = 0; i < count; i++)
            {
                var capture = store.Begin(block)!;
                capture.OnResponseHead("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"u8, 200);
                for (var left = length; left > 0; left -= piece.Length)
                {
                    capture.OnResponseBody(piece);
                }

                capture.OnEnded(null, null);
            }
        }
    }

    [Fact]
    public void An_exchange_that_was_dropped_takes_nothing_more()
    {
        var store = Sample.Store(new InspectionLimits { Exchanges = 1 });
        var first = Sample.Asked(store, body: "abc");
        Sample.Asked(store);
        first.OnResponseHead("HTTP/1.1 200 OK\r\n\r\n"u8, 200);
        first.OnResponseBody(new byte[5000]);
        first.OnEnded(null, null);

        Assert.True(first.IsDropped);
        Assert.Empty(first.ResponseBody.ToArray());
        Assert.Empty(first.RequestBody.ToArray());
        Assert.Equal(store.Latest().Single().Held, store.Bytes);
    }

    [Fact]
    public async Task Who_waits_sees_the_next_change()
    {
        var store = Sample.Store();
        var version = store.Version;
        var waiting = store.WaitForChangeAsync(version, TimeSpan.FromDays(1), TestContext.Current.CancellationToken);
        Assert.False(waiting.IsCompleted);
        Sample.Asked(store);
        await waiting;
        Assert.NotEqual(version, store.Version);
        await store.WaitForChangeAsync(version, TimeSpan.FromDays(1), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_replay_is_recognised_once_by_method_and_target()
    {
        var store = Sample.Store();
        var expectation = new ReplayExpectation(7, "GET"u8.ToArray(), "/again"u8.ToArray());
        store.Expect(expectation);
        Assert.Equal(0, Sample.Asked(store, target: "/other").ReplayOf);
        var replay = Sample.Asked(store, target: "/again");
        Assert.Equal((7, "tunnel"), (replay.ReplayOf, replay.Via));
        Assert.Equal(0, Sample.Asked(store, target: "/again").ReplayOf);
        Assert.False(expectation.Ended.IsCompleted);
        replay.OnEnded(null, null);
        Assert.Same(replay, await expectation.Ended);
        store.Forget(expectation);
    }

    [Fact]
    public async Task Readers_see_only_whole_pieces_while_a_pump_writes()
    {
        var store = Sample.Store(new InspectionLimits { BodyBytes = 200_000 });
        var capture = Sample.Asked(store);
        var writing = Task.Run(() =>
        {
            for (var i = 0; i < 2000; i++)
            {
                capture.OnResponseBody([(byte)i, (byte)(i >> 8), 1, 2, 3, 4, 5]);
            }
        });
        do
        {
            var seen = capture.ResponseBody.ToArray();
            for (var i = 0; i + 7 <= seen.Length; i += 7)
            {
                Assert.Equal(i / 7, seen[i] | (seen[i + 1] << 8));
            }
        }
        while (!writing.IsCompleted);
        await writing;
        Assert.Equal(14_000, capture.ResponseBody.ToArray().Length);
    }

    private static IEnumerable<string> Texts(IEnumerable<HeadField> fields) =>
        fields.Select(field => $"{HeadText.Of(field.Name)}={HeadText.Of(field.Value)}");
}
