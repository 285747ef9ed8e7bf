using System.Text;
using System.Text.Json;
using System.Xml.Linq;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Tests.Errors;

public sealed class ErrorResponsesTests
{
    public static TheoryData<string> AllErrors => [.. Enum.GetNames<ProxyError>()];

    [Fact]
    public void Problem_json_is_short_and_readable()
    {
        var response = ErrorResponses.Get(ProxyError.UnknownName, ErrorBodyFormat.ProblemJson);

        Assert.Equal(404, response.Status);
        Assert.Equal(
            """
            {
              "type": "urn:tunnel2:error:unknown-name",
              "title": "No tunnel with this name",
              "status": 404,
              "detail": "No agent has registered this name. Check the address for a typing mistake, or start the agent under this name.",
              "code": "unknown-name",
              "leg": "entry"
            }

            """.ReplaceLineEndings("\n"),
            Text(response).ReplaceLineEndings("\n"));
    }

    [Fact]
    public void An_offline_agent_is_reported_with_all_its_headers()
    {
        var response = ErrorResponses.Get(ProxyError.AgentOffline, ErrorBodyFormat.ProblemJson);

        Assert.Equal(
            [
                "Content-Type: application/problem+json",
                "Cache-Control: no-store",
                "Tunnel2-Error: agent-offline",
                "Proxy-Status: Tunnel2; error=destination_unavailable; details=\"The agent is offline\"",
                "X-Content-Type-Options: nosniff",
                "Retry-After: 5",
            ],
            response.Headers.Select(header => $"{header.Key}: {header.Value}"));
    }

    [Fact]
    public void The_page_shows_status_title_detail_code_and_the_leg_that_failed()
    {
        var page = Text(ErrorResponses.Get(ProxyError.BackendRefused, ErrorBodyFormat.Html));

        Assert.Contains("<title>The service refused the connection</title>", page, StringComparison.Ordinal);
        Assert.Contains("<p class=\"status\">Error 502</p>", page, StringComparison.Ordinal);
        Assert.Contains(
            "<li class=\"ok\">Agent</li>\n<li class=\"bad\" aria-current=\"step\">Service</li>\n", page, StringComparison.Ordinal);
        Assert.Contains("<code>backend-refused</code></footer>", page, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(AllErrors))]
    public void Every_error_renders_in_both_forms(string name)
    {
        var error = Enum.Parse<ProxyError>(name);
        var info = ProxyErrorCatalog.Get(error);
        var json = ErrorResponses.Get(error, ErrorBodyFormat.ProblemJson);
        var html = ErrorResponses.Get(error, ErrorBodyFormat.Html);

        using var problem = JsonDocument.Parse(json.Body);
        Assert.Equal(info.Status, problem.RootElement.GetProperty("status").GetInt32());
        Assert.Equal(info.Detail, problem.RootElement.GetProperty("detail").GetString());
        Assert.DoesNotContain("\\u", Text(json), StringComparison.Ordinal);
        var body = ParsePage(html);
        Assert.Equal(info.Title, body.Descendants("h1").Single().Value);
        Assert.Single(body.Descendants("li"), item => item.Attribute("class")?.Value == "bad");
        Assert.True(html.Body.Length < 6000);
        foreach (var response in new[] { json, html })
        {
            Assert.Equal(info.Status, response.Status);
            Assert.Contains(response.Headers, header => header is { Key: "Tunnel2-Error" } && header.Value == info.Code);
            Assert.All(response.Headers, header => Assert.DoesNotMatch("[^ -~]", header.Value));
            Assert.Same(
                response, ErrorResponses.Get(error, response == html ? ErrorBodyFormat.Html : ErrorBodyFormat.ProblemJson, default));
        }
    }

    [Fact]
    public void The_page_needs_nothing_from_elsewhere_and_runs_no_script()
    {
        var page = Text(ErrorResponses.Get(ProxyError.Internal, ErrorBodyFormat.Html));

        Assert.DoesNotContain("http:", page, StringComparison.Ordinal);
        Assert.DoesNotContain("https:", page, StringComparison.Ordinal);
        Assert.DoesNotContain("url(", page, StringComparison.Ordinal);
        Assert.DoesNotContain("<script", page, StringComparison.Ordinal);
    }

    [Fact]
    public void What_the_visitor_sent_is_escaped_in_both_forms()
    {
        var details = new ErrorDetails { Address = "<script>alert('&\"')</script>", RequestId = "</code>" };

        var page = ErrorResponses.Get(ProxyError.UnknownName, ErrorBodyFormat.Html, details);
        var json = ErrorResponses.Get(ProxyError.UnknownName, ErrorBodyFormat.ProblemJson, details);

        Assert.Equal(
            ["unknown-name", "<script>alert('&\"')</script>", "</code>"], ParsePage(page).Descendants("code").Select(code => code.Value));
        Assert.DoesNotContain("<script", Text(page), StringComparison.Ordinal);
        Assert.DoesNotContain('<', Text(json));
        using var problem = JsonDocument.Parse(json.Body);
        Assert.Equal(details.Address, problem.RootElement.GetProperty("address").GetString());
        Assert.Equal(details.RequestId, problem.RootElement.GetProperty("requestId").GetString());
    }

    [Fact]
    public void Retry_after_can_be_overridden_and_long_values_are_cut()
    {
        var details = new ErrorDetails { RetryAfterSeconds = 42, Address = new string('a', 5000) };

        var response = ErrorResponses.Get(ProxyError.RateLimit, ErrorBodyFormat.ProblemJson, details);

        Assert.Contains(new KeyValuePair<string, string>("Retry-After", "42"), response.Headers);
        Assert.True(response.Body.Length < 1000);
    }

    // The page is written to be well-formed XML, apart from its doctype, void elements and named entities.
    private static XElement ParsePage(ErrorResponse response)
    {
        var text = Text(response);
        var body = text[text.IndexOf("<body>", StringComparison.Ordinal)..text.IndexOf("</html>", StringComparison.Ordinal)];
        return XElement.Parse(body.Replace("&middot;", "·", StringComparison.Ordinal));
    }

    private static string Text(ErrorResponse response) => Encoding.UTF8.GetString(response.Body.Span);
}
