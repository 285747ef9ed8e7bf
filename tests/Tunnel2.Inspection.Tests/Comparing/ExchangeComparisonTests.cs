using System.Text.Json;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Comparing;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Comparing;

public sealed class ExchangeComparisonTests
{
    [Fact]
    public void Trailers_that_differ_are_shown_and_their_secrets_masked()
    {
        var store = Sample.Store();
        var first = With(store, ("X-Sum", "1"), ("Same", "s"), ("X-Api-Key", "one"));
        var second = With(store, ("X-Sum", "2"), ("Same", "s"), ("X-Api-Key", "two"));
        using var json = JsonDocument.Parse(Compared(first, second));
        var trailers = json.RootElement.GetProperty("response").GetProperty("trailers").EnumerateArray().ToList();
        Assert.Equal(["X-Sum", "X-Api-Key"], trailers.Select(static field => field.GetProperty("name").GetString()));
        Assert.Equal("1", trailers[0].GetProperty("first")[0].GetString());
        Assert.Equal("2", trailers[0].GetProperty("second")[0].GetString());
        Assert.Equal("***", trailers[1].GetProperty("second")[0].GetString());
        Assert.Empty(json.RootElement.GetProperty("request").GetProperty("trailers").EnumerateArray());
    }

    [Fact]
    public void Equal_trailers_are_no_difference()
    {
        var store = Sample.Store();
        using var json = JsonDocument.Parse(Compared(With(store, ("A", "1"), ("B", "2")), With(store, ("A", "1"), ("B", "2"))));
        Assert.Empty(json.RootElement.GetProperty("response").GetProperty("trailers").EnumerateArray());
    }

    [Fact]
    public void Half_of_a_surrogate_pair_is_compared_as_it_was_sent()
    {
        var store = Sample.Store();
        ExchangeCapture Posted(string number) => Sample.Asked(
            store, "POST", "/", $$"""{"a":"\ud800","b":{{number}}}""", ("Content-Type", "application/json")).Answered("HTTP/1.1 200 OK");
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output))
        {
            ExchangeComparison.Write(json, Posted("1"), Posted("2"), rules: null);
        }

        using var document = JsonDocument.Parse(output.ToArray());
        Assert.False(document.RootElement.GetProperty("request").GetProperty("body").GetProperty("same").GetBoolean());
    }

    private static ExchangeCapture With(ExchangeStore store, params (string Name, string Value)[] trailers)
    {
        var capture = Sample.Asked(store);
        capture.OnResponseTrailers(Sample.Trailers(trailers));
        return capture.Answered("HTTP/1.1 200 OK");
    }

    private static byte[] Compared(ExchangeCapture first, ExchangeCapture second)
    {
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output))
        {
            ExchangeComparison.Write(json, first, second, MaskingRules.BuiltIn);
        }

        return output.ToArray();
    }
}
