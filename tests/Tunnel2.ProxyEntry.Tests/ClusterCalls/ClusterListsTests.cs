using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.ClusterCalls;

namespace Tunnel2.ProxyEntry.Tests.ClusterCalls;

public sealed class ClusterListsTests
{
    [Fact]
    public void A_page_of_sessions_has_all_of_its_last_name_and_says_where_the_next_one_begins()
    {
        var page = Read(ClusterLists.Sessions(
            [
                Reply("e1", """{"sessions":[{"name":"a"},{"name":"c"}],"total":4,"next":"c"}"""),
                Reply("e2", """{"sessions":[{"name":"b"},{"name":"c"}],"total":2}"""),
                NodeReply.Lost("e3", "gone"),
            ],
            3));
        Assert.Equal("a@e1 b@e2 c@e1 c@e2", string.Join(' ', page.GetProperty("sessions").EnumerateArray().Select(
            static one => $"{one.GetProperty("name")}@{one.GetProperty("node")}")));
        Assert.Equal((6, "c"), (page.GetProperty("total").GetInt32(), page.GetProperty("next").GetString()));
        Assert.Equal("up up lost", string.Join(' ', page.GetProperty("nodes").EnumerateArray().Select(
            static one => one.GetProperty("state").GetString())));
    }

    [Fact]
    public void The_last_page_has_no_next() => Assert.False(
        Read(ClusterLists.Sessions([Reply("e1", """{"sessions":[{"name":"a"}],"total":1}""")], 1)).TryGetProperty("next", out _));

    [Fact]
    public void What_a_node_has_written_is_written_in_the_same_form()
    {
        const string One = """
            "name":"a","since":"2026-01-01T00:00:03+00:00","note":"\u003c<+\u00e9é","n":1.50,"more":{"at":"1+1"}}
            """;
        var page = Encoding.UTF8.GetString(
            ClusterLists.Sessions([Reply("e1", "{\"sessions\":[{" + One + "],\"total\":1}")], 10).Span);
        Assert.Contains("{\"node\":\"e1\"," + One, page, StringComparison.Ordinal);
        var all = Encoding.UTF8.GetString(ClusterInspections.Describe(
            "a", [Reply("e1", """{"name":"a","until":"2026-01-01T00:01:00+00:00"}""")], null, null).Span);
        Assert.Contains("\"2026-01-01T00:01:00+00:00\"", all, StringComparison.Ordinal);
    }

    [Fact]
    public void Requests_are_by_time()
    {
        var list = Read(ClusterLists.Requests(
            [
                Reply("e1", """{"requests":[{"startedAt":"2026-01-01T00:00:03Z"},{"startedAt":"2026-01-01T00:00:01Z"}]}"""),
                Reply("e2", """{"requests":[{"startedAt":"2026-01-01T00:00:02.5+00:00"}]}"""),
            ],
            2));
        Assert.Equal(["e1", "e2"], list.GetProperty("requests").EnumerateArray().Select(static one => one.GetProperty("node").GetString()));
    }

    [Theory]
    [InlineData("[]")]
    [InlineData("{")]
    [InlineData("""{"sessions":7,"total":"x"}""")]
    [InlineData("""{"sessions":[1,null,"x"]}""")]
    public void What_another_node_sends_wrongly_is_left_out(string text) => Assert.Equal(
        0, Read(ClusterLists.Sessions([Reply("e1", text)], 10)).GetProperty("sessions").GetArrayLength());

    [Fact]
    public void An_inspection_lasts_as_long_as_that_of_the_node_that_has_it_longest()
    {
        var all = Read(ClusterInspections.Describe(
            "web",
            [
                Reply("e1", """{"name":"web","until":"2026-01-01T00:01:00+00:00"}"""),
                Reply("e2", """{"name":"web","until":null}"""),
                Reply("e3", """{"name":"web","until":"2026-01-01T00:02:00+00:00"}"""),
            ],
            null, null));
        Assert.Equal("2026-01-01T00:02:00+00:00", all.GetProperty("until").GetString());
        Assert.False(all.GetProperty("nodes")[1].TryGetProperty("until", out _));
        var none = Read(ClusterInspections.Describe("web", [Reply("e1", """{"until":null}""")], null, null));
        Assert.Equal(JsonValueKind.Null, none.GetProperty("until").ValueKind);
    }

    [Theory]
    [InlineData(200, "up")]
    [InlineData(404, "up")]
    [InlineData(503, "busy")]
    [InlineData(0, "lost")]
    public void A_node_has_a_state(int status, string expected) => Assert.Equal(expected, new NodeReply("e1", status, "", default).State);

    private static NodeReply Reply(string node, string json) => new(node, 200, "application/json", Encoding.UTF8.GetBytes(json));

    private static JsonElement Read(ReadOnlyMemory<byte> json)
    {
        using var document = JsonDocument.Parse(json);
        return document.RootElement.Clone();
    }
}
