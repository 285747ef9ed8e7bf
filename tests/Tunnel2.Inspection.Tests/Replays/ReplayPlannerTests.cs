using System.Text.Json;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Replays;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Tests.Replays;

public sealed class ReplayPlannerTests
{
    [Fact]
    public void The_same_request_without_the_fields_of_connection_and_tunnel()
    {
        var capture = Sample.Asked(
            Sample.Store(), "POST", "/a", "body", ("Host", "web"), ("A", "1"), ("Content-Length", "4"), ("Expect", "100-continue"),
            ("X-Forwarded-For", "1"), ("Authorization", "Bearer secret"), ("a", "2"));
        var request = Planned(capture, null);
        Assert.Equal("Host: web|A: 1|Content-Length: 4|Authorization: Bearer secret|a: 2", Fields(request));
        Assert.Equal(("POST", "/a", "body"), (HeadText.Of(request.Method), HeadText.Of(request.Target), HeadText.Of(request.Body)));
    }

    [Fact]
    public void An_edited_request()
    {
        var capture = Sample.Asked(Sample.Store(), "GET", "/a", "", ("Host", "web"), ("Authorization", "Bearer secret"), ("X", "1"));
        var request = Planned(capture, """
            {"method":"PUT","target":"/b?c=1","body":"caf\u00e9",
             "fields":[{"keep":1},{"name":"X","value":" 2 "},{"name":"Connection","value":"close"}]}
            """);
        Assert.Equal("Authorization: Bearer secret|X: 2|Content-Length: 5", Fields(request));
        Assert.Equal("PUT /b?c=1 caf\u00e9", $"{HeadText.Of(request.Method)} {HeadText.Of(request.Target)} {HeadText.Of(request.Body)}");
    }

    [Theory]
    [InlineData("""{"fields":[{"keep":0}]}""", "web.localhost:12000", false)]
    [InlineData("""{"fields":[]}""", "web.localhost:12000", false)]
    [InlineData("""{"method":"PUT"}""", "web.localhost:12000", false)]
    [InlineData("""{"fields":[{"name":"host","value":"WEB.localhost:80"}]}""", "WEB.localhost:80", false)]
    [InlineData("""{"fields":[{"name":"host","value":"shop.example"}]}""", "shop.example", true)]
    public void The_host_that_is_called_is_that_of_the_visitor_or_the_one_that_was_given(string edits, string called, bool isOther)
    {
        var request = Planned(Sample.Asked(Sample.Store(), "GET", "/a", "", ("Host", "web"), ("X", "1")), edits);
        Assert.Equal((called, isOther), (request.Authority, request.HasOtherHost));
    }

    [Fact]
    public void A_body_that_was_cut_is_refused_with_the_reason_and_may_be_replaced()
    {
        var capture = Sample.Asked(Sample.Store(new InspectionLimits { BodyBytes = 10 }), "POST", "/", new string('x', 11));
        var refusal = Refused(capture, null);
        Assert.Equal("body-truncated", refusal.Code);
        Assert.Contains("11 bytes", refusal.Message, StringComparison.Ordinal);
        Assert.Equal("body-truncated", Refused(capture, """{"method":"PUT"}""").Code);
        Assert.Equal(3, Planned(capture, """{"bodyBase64":"AAEC"}""").Body.Length);
    }

    [Fact]
    public void A_body_that_did_not_arrive_whole_is_refused()
    {
        var capture = Sample.Store().Begin(Sample.Block("POST", "/", ("Content-Length", "100")))!;
        capture.OnRequestBody("half"u8);
        Assert.Equal("body-incomplete", Refused(capture, null).Code);
    }

    [Fact]
    public void An_upgraded_connection_and_one_that_is_gone_are_refused()
    {
        var store = Sample.Store(new InspectionLimits { Exchanges = 1 });
        var capture = store.Begin(Sample.Block("GET", "/", HeaderBlockFlags.Upgrade, ("Upgrade", "websocket")))!;
        Assert.Equal("upgraded", Refused(capture, null).Code);
        Sample.Asked(store);
        Assert.Equal("gone", Refused(capture, null).Code);
    }

    [Theory]
    [InlineData("[]")]
    [InlineData("""{"method":"BAD METHOD"}""")]
    [InlineData("""{"method":""}""")]
    [InlineData("""{"method":"CONNECT"}""")]
    [InlineData("""{"target":"no-path"}""")]
    [InlineData("""{"target":"http://other/"}""")]
    [InlineData("""{"target":"/a b"}""")]
    [InlineData("""{"target":"/a\r\nX: y"}""")]
    [InlineData("""{"fields":{}}""")]
    [InlineData("""{"fields":[1]}""")]
    [InlineData("""{"fields":[{"name":"A"}]}""")]
    [InlineData("""{"fields":[{"name":"A","value":"x\r\ny"}]}""")]
    [InlineData("""{"fields":[{"name":"A b","value":"x"}]}""")]
    [InlineData("""{"fields":[{"keep":99}]}""")]
    [InlineData("""{"bodyBase64":"!"}""")]
    [InlineData("""{"headers":[{"name":"A","value":"x"}]}""")]
    [InlineData("""{"path":"/other"}""")]
    [InlineData("""{"body":{"a":1}}""")]
    [InlineData("""{"method":null}""")]
    [InlineData("""{"body":"a","bodyBase64":"YQ=="}""")]
    public void What_is_not_http_is_refused(string edits) =>
        Assert.Equal("malformed", Refused(Sample.Asked(Sample.Store()), edits).Code);

    [Fact]
    public void A_body_in_chunks_stays_one_and_an_empty_one_declares_nothing()
    {
        Assert.False(Planned(Sample.Asked(Sample.Store(), "POST", "/", "abc"), null).HasLength);
        Assert.Equal("", Fields(Planned(Sample.Asked(Sample.Store(), "POST", "/", "abc"), """{"body":""}""")));
    }

    [Fact]
    public void Trailers_are_sent_again_after_a_body_in_chunks()
    {
        var capture = WithTrailers(("Host", "web"), ("Content-Length", "4"));
        var request = Planned(capture, null);
        Assert.Equal("Host: web", Fields(request));
        Assert.Equal("X-Sum: 1|x-sum: 2", Texts(request.Trailers));
        Assert.False(request.HasLength);
        var bytes = HeadText.Of(ReplayMessage.ForVisitor(request, new Uri("http://web/"))!);
        Assert.EndsWith(
            "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n", bytes, StringComparison.Ordinal);
        Assert.Equal("X-Sum: 1|x-sum: 2", Texts(Planned(capture, """{"body":"new"}""").Trailers));
        Assert.EndsWith(
            "\r\n\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n",
            HeadText.Of(ReplayMessage.ForVisitor(Planned(capture, """{"body":""}"""), new Uri("http://web/"))!),
            StringComparison.Ordinal);
    }

    [Fact]
    public void Trailers_can_be_edited_and_left_out()
    {
        var capture = WithTrailers(("Host", "web"), ("Content-Length", "4"));
        Assert.Equal("x-sum: 2|New: n", Texts(Planned(capture, """{"trailers":[{"keep":1},{"name":"New","value":"n"}]}""").Trailers));
        var without = Planned(capture, """{"trailers":[]}""");
        Assert.Empty(without.Trailers);
        Assert.Equal("Host: web|Content-Length: 4", Fields(without));
    }

    [Theory]
    [InlineData("""{"trailers":{}}""")]
    [InlineData("""{"trailers":[{"name":"Content-Length","value":"9"}]}""")]
    [InlineData("""{"trailers":[{"name":"A","value":"x\r\ny"}]}""")]
    [InlineData("""{"trailers":[{"name":"A b","value":"x"}]}""")]
    [InlineData("""{"trailers":[{"keep":2}]}""")]
    public void A_trailer_that_frames_or_is_not_http_is_refused(string edits) =>
        Assert.Equal("malformed", Refused(WithTrailers(("Host", "web")), edits).Code);

    private static ExchangeCapture WithTrailers(params (string Name, string Value)[] fields)
    {
        var capture = Sample.Asked(Sample.Store(), "POST", "/", "body", fields);
        capture.OnRequestTrailers(Sample.Trailers(("X-Sum", "1"), ("x-sum", "2")));
        return capture;
    }

    private static string Texts(IReadOnlyList<HeadField> fields) =>
        string.Join('|', fields.Select(static field => $"{HeadText.Of(field.Name)}: {HeadText.Of(field.Value)}"));

    private static ReplayRequest Planned(ExchangeCapture capture, string? edits)
    {
        Assert.Null(ReplayPlanner.TryPlan(capture, Parse(edits), out var request));
        return request!;
    }

    private static ReplayRefusal Refused(ExchangeCapture capture, string? edits)
    {
        var refusal = ReplayPlanner.TryPlan(capture, Parse(edits), out var request);
        Assert.Null(request);
        return refusal!;
    }

    private static JsonElement? Parse(string? edits) => edits is null ? null : JsonDocument.Parse(edits).RootElement.Clone();

    private static string Fields(ReplayRequest request) =>
        string.Join('|', request.Fields.Select(field => $"{HeadText.Of(field.Name)}: {HeadText.Of(field.Value)}"));
}
