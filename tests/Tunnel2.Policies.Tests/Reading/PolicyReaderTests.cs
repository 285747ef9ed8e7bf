using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Tests.Reading;

public sealed class PolicyReaderTests
{
    [Fact]
    public void A_table_is_read_with_remarks_and_commas_and_written_without()
    {
        var policy = Read(
            """
            // who may see what
            { "rows": [
              { "path": ["/health", "/status/*"], "method": "GET", "allow": true, },
              { "path": "/admin/**", "address": ["10.0.0.0/8", "2001:db8::/32"], "allow": true },
              { "path": "/admin/**", "deny": true },
              { "path": "/old/**", "redirect": "https://new.example.com", "status": 308, "keep-path": true },
              { "path": "/down", "answer": { "status": 503, "body": "Später", "headers": { "Retry-After": "60" } } },
              { "header": { "X-Env": "beta", "X-Off": false, "User-Agent": "*bot*" }, "country": ["DE", "XX"],
                "set-request-header": { "X-Role": "guest" }, "remove-response-header": "Server",
                "rate-limit": { "rate": "90/minute", "burst": 5, "per-header": "X-Key" }, "body-limit": "2MB", "timeout": "2m" },
            ] }
            """).Policy!;
        Assert.Equal(
            [PolicyEnd.Allow, PolicyEnd.Allow, PolicyEnd.Deny, PolicyEnd.Redirect, PolicyEnd.Answer, PolicyEnd.None],
            policy.Rows.Select(static row => row.End));
        Assert.Equal("https://new.example.com/a?b=c", policy.Rows[3].Redirect!.LocationFor("/a?b=c"));
        Assert.Equal((503, "text/plain; charset=utf-8"), (policy.Rows[4].Answer!.Status, policy.Rows[4].Answer!.Type));
        var last = policy.Rows[5];
        Assert.Equal((1.5, 5, PolicyRateKey.Header, "X-Key"), (last.Rate!.PerSecond, last.Rate.Burst, last.Rate.Key, last.Rate.Header));
        Assert.Equal((2L * 1024 * 1024, TimeSpan.FromMinutes(2)), (last.BodyLimit, last.Timeout));
        Assert.Equal(["Set X-Role"], last.RequestEdits.Select(static edit => edit.ToString()));
        Assert.Equal(["Remove Server"], last.ResponseEdits.Select(static edit => edit.ToString()));
        Assert.True(policy.AsksForCountry);
        Assert.True(PolicyReader.Read(policy.Text.Span).Policy!.IsSameAs(policy));
        Assert.StartsWith("[{\"path\":[\"/health\"", Encoding.UTF8.GetString(policy.Text.Span), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "line 1: is not JSON")]
    [InlineData("[\n{ \"deny\": true },\n oops ]", "line 3: is not JSON")]
    [InlineData("[] []", "line 1: is not JSON")]
    [InlineData("[]", "line 1: a policy is a list of rows, with at least one")]
    [InlineData("3", "line 1: a policy is a list of rows")]
    [InlineData("{\"rows\":[{\"deny\":true}],\"row\":1}", "line 1: 'row' is not a key here")]
    [InlineData("[ 7 ]", "row 1 (line 1): is not a table")]
    [InlineData("[{\"pth\":\"/a\",\"deny\":true}]", "'pth' is not a key, did you mean 'path'?")]
    [InlineData("[{\"path\":\"/a\",\"path\":\"/b\",\"deny\":true}]", "'path' is given more than once")]
    [InlineData("[{\"path\":\"/a\"}]", "does nothing")]
    [InlineData("[{\"path\":\"a\",\"deny\":true}]", "path: 'a' does not begin with a slash")]
    [InlineData("[{\"path\":[],\"deny\":true}]", "path: is a text, or a list of 1 to 64 texts")]
    [InlineData("[{\"method\":\"get\",\"deny\":true}]", "method: 'get' is not a method in upper case")]
    [InlineData("[{\"address\":\"10.0.0.1/8\",\"deny\":true}]", "address: '10.0.0.1/8' has bits set after its prefix")]
    [InlineData("[{\"address\":\"::ffff:1.2.3.4\",\"deny\":true}]", "is IPv4 within IPv6")]
    [InlineData("[{\"address\":\"localhost\",\"deny\":true}]", "is neither an IP address nor a network")]
    [InlineData("[{\"country\":\"Germany\",\"deny\":true}]", "is not a country")]
    [InlineData("[{\"header\":{\"X-A\":\"be*ta\"},\"deny\":true}]", "has a '*' that is not at both ends")]
    [InlineData("[{\"header\":{\"X-Tunnel2-User\":\"boss\"},\"allow\":true}]", "header: X-Tunnel2-User is written by the server itself")]
    [InlineData("[{\"header\":{\"X_Forwarded_For\":true},\"deny\":true}]", "header: X_Forwarded_For is written by the server itself")]
    [InlineData(
        "[{\"rate-limit\":{\"rate\":\"1/hour\",\"per-header\":\"X-Tunnel2-User\"}}]",
        "rate-limit: per-header: X-Tunnel2-User is written by the server itself")]
    [InlineData("[{\"header\":{\"X A\":\"1\"},\"deny\":true}]", "'X A' is not the name of a header")]
    [InlineData("[{\"header\":{},\"deny\":true}]", "header: is not a table of names")]
    [InlineData("[{\"deny\":false}]", "deny: is true or left out")]
    [InlineData("[{\"deny\":true,\"allow\":true}]", "has both allow and deny")]
    [InlineData("[{\"deny\":true,\"timeout\":\"5s\"}]", "has deny, which ends the walk, and timeout")]
    [InlineData("[{\"path\":\"/a\",\"allow\":true}]", "changes nothing: what no row refuses passes anyway")]
    [InlineData("[{\"deny\":true},{\"path\":\"/a\",\"deny\":true}]", "row 2 (line 1): no request reaches it: row 1 ends the walk")]
    [InlineData(
        "[{\"method\":[\"GET\",\"POST\"],\"answer\":{\"status\":200}},{\"method\":\"HEAD\",\"timeout\":\"1s\"}]",
        "row 2 (line 1): no request")]
    [InlineData(
        "[{\"address\":\"10.0.0.0/8\",\"deny\":true},{\"address\":\"10.1.0.0/16\",\"path\":\"/x\",\"deny\":true}]",
        "row 2 (line 1): no request")]
    [InlineData("[{\"redirect\":\"/new\"}]", "leads to a path that this row matches")]
    [InlineData("[{\"path\":\"/a\",\"redirect\":\"//evil.example\"}]", "redirect: is not a URL")]
    [InlineData("[{\"path\":\"/a\",\"redirect\":\"javascript:alert(1)\"}]", "redirect: is not a URL")]
    [InlineData("[{\"path\":\"/a\",\"redirect\":\"https://a\\r\\nX: y\"}]", "redirect: is not a URL")]
    [InlineData("[{\"path\":\"/a\",\"redirect\":\"/b\",\"keep-path\":true}]", "keep-path: goes with a URL")]
    [InlineData("[{\"path\":\"/a\",\"redirect\":\"/b\",\"status\":200}]", "status: is not 301")]
    [InlineData("[{\"deny\":true,\"status\":404}]", "has a status or keep-path without a redirect")]
    [InlineData("[{\"answer\":{\"status\":101}}]", "the status is not 200 to 599")]
    [InlineData("[{\"answer\":{\"status\":204,\"body\":\"x\"}}]", "the status 204 has no body")]
    [InlineData("[{\"answer\":{\"stats\":200}}]", "answer: 'stats' is not a key, did you mean 'status'?")]
    [InlineData("[{\"answer\":{\"headers\":{\"Content-Length\":\"1\"}}}]", "Content-Length frames or routes")]
    [InlineData("[{\"answer\":{\"headers\":{\"Content-Type\":\"a/b\"}}}]", "is written as 'type'")]
    [InlineData("[{\"set-request-header\":{\"Host\":\"x\"}}]", "Host frames or routes")]
    [InlineData("[{\"set-request-header\":{\"Content_Length\":\"1\"}}]", "Content_Length frames or routes")]
    [InlineData("[{\"add-request-header\":{\"Transfer-Encoding\":\"chunked\"}}]", "Transfer-Encoding frames or routes")]
    [InlineData("[{\"add-request-header\":{\"Connection\":\"close\"}}]", "Connection frames or routes")]
    [InlineData("[{\"add-request-header\":{\"X-Tunnel2-User\":\"root\"}}]", "X-Tunnel2-User is written by the server itself")]
    [InlineData("[{\"add-request-header\":{\"x_tunnel2_user\":\"root\"}}]", "x_tunnel2_user is written by the server itself")]
    [InlineData("[{\"add-request-header\":{\"X-Forwarded-For\":\"1\"}}]", "X-Forwarded-For is written by the server itself")]
    [InlineData("[{\"remove-request-header\":\"X-Forwarded-For\"}]", "is written by the server itself")]
    [InlineData("[{\"set-response-header\":{\"Tunnel2-Error\":\"x\"}}]", "Tunnel2-Error is written by the server itself")]
    [InlineData("[{\"set-response-header\":{\"Sec-WebSocket-Accept\":\"x\"}}]", "Sec-WebSocket-Accept frames or routes")]
    [InlineData("[{\"set-response-header\":{\"X-A\":\"a\\nb\"}}]", "the value of X-A is not a text")]
    [InlineData(
        "[{\"add-request-header\":{\"X-A\":\"1\"},\"remove-request-header\":\"x-a\"}]",
        "changes the header x-a of the request more than once")]
    [InlineData("[{\"rate-limit\":{\"rate\":\"0/second\"}}]", "a rate of zero lets no request in")]
    [InlineData("[{\"rate-limit\":{\"rate\":\"1/second\",\"burst\":0}}]", "a burst of zero lets no request in")]
    [InlineData("[{\"rate-limit\":{\"rate\":\"-1/second\"}}]", "the rate is not a number")]
    [InlineData("[{\"rate-limit\":{\"rate\":\"1/second\",\"per\":\"tunnel\",\"per-header\":\"X\"}}]", "has both per and per-header")]
    [InlineData("[{\"rate-limit\":{\"rate\":\"1/second\",\"per\":\"planet\"}}]", "per is address or tunnel")]
    [InlineData("[{\"body-limit\":\"0\"}]", "a limit of zero refuses every body")]
    [InlineData("[{\"body-limit\":\"99999999GB\"}]", "body-limit: is not a number of bytes")]
    [InlineData("[{\"timeout\":\"0s\"}]", "timeout: is not 1s to 3600s")]
    [InlineData("[{\"timeout\":\"61m\"}]", "timeout: is not 1s to 3600s")]
    [InlineData("[{\"timeout\":5}]", "timeout: is not 1s to 3600s")]
    public void What_contradicts_itself_is_refused_with_its_row_and_reason(string text, string mistake)
    {
        var reading = Read(text);
        Assert.Null(reading.Policy);
        Assert.Contains(reading.Mistakes, one => one.ToString().Contains(mistake, StringComparison.Ordinal));
    }

    [Fact]
    public void All_mistakes_come_at_once_in_the_order_of_rows()
    {
        var reading = Read(
            """
            [
              { "path": "x", "deny": true },
              { "deny": true, "allow": true },
              { "path": "/a", "deny": true },
              { "path": "/a", "timeout": "5s" },
              { "timout": "5s" }
            ]
            """);
        Assert.Equal([1, 2, 4, 5, 5], reading.Mistakes.Select(static mistake => mistake.Row));
        Assert.Equal([2, 3, 5, 6, 6], reading.Mistakes.Select(static mistake => mistake.Line));
    }

    [Fact]
    public void A_redirect_may_lead_to_a_path_that_an_earlier_row_lets_pass() => Assert.NotNull(Read(
        """[ { "path": "/soon", "allow": true }, { "redirect": "/soon", "status": 307 } ]""").Policy);

    [Theory]
    [InlineData(64, true)]
    [InlineData(65, false)]
    public void There_is_a_most_of_rows(int rows, bool isGood)
    {
        var text = "[" + string.Join(',', Enumerable.Range(0, rows).Select(static i => $$"""{"path":"/{{i}}","deny":true}""")) + "]";
        Assert.Equal(isGood, Read(text).Policy is not null);
    }

    [Fact]
    public void Long_texts_and_deep_ones_are_refused_and_never_throw()
    {
        Assert.Null(Read("[" + new string(' ', Policy.MaxFileLength) + "]").Policy);
        Assert.Null(Read(new string('[', 1000)).Policy);
        Assert.Null(Read("[{\"answer\":{\"body\":\"" + new string('x', 4097) + "\"}}]").Policy);
        Assert.Null(PolicyReader.Read([(byte)'[', (byte)'"', 0xFF, (byte)'"', (byte)']']).Policy);
        var wide = "[" + string.Join(',', Enumerable.Range(0, 5).Select(static i =>
            $"{{\"path\":\"/{i}\",\"answer\":{{\"body\":\"{new string('x', 4000)}\"}}}}")) + "]";
        Assert.Contains("bytes without spaces", Assert.Single(Read(wide).Mistakes).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Many_mistakes_are_cut()
    {
        var text = "[{" + string.Join(',', Enumerable.Range(0, 5000).Select(static i => $"\"k{i}\":1")) + "}]";
        Assert.Equal(PolicyReader.MostMistakes, Read(text).Mistakes.Count);
    }

    private static PolicyReading Read(string text) => PolicyReader.Read(Encoding.UTF8.GetBytes(text));
}
