using System.Text;
using System.Text.RegularExpressions;
using Microsoft.AspNetCore.Http;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Dashboard;

public sealed class DashboardFilesTests
{
    private static readonly string _folder = Path.Combine(
        RepositoryFolder.Path, "src", "Tunnel2.ProxyEntry.Hosting", "Dashboard", "Page");

    public static TheoryData<string> Files =>
    [
        .. Directory.EnumerateFiles(_folder, "*", SearchOption.AllDirectories)
            .Select(static path => Path.GetRelativePath(_folder, path).Replace('\\', '/')),
    ];

    [Theory]
    [InlineData("GET", true)]
    [InlineData("HEAD", false)]
    public async Task The_page_is_given_with_its_length_and_may_load_nothing_from_elsewhere(string method, bool hasBody)
    {
        var (response, body) = await AskAsync(method);
        Assert.Equal((200, "text/html; charset=utf-8"), (response.StatusCode, response.ContentType));
        Assert.True(response.ContentLength > 1000);
        Assert.Equal(hasBody ? response.ContentLength : 0, body.Length);
        var policy = response.Headers.ContentSecurityPolicy.ToString();
        Assert.StartsWith("default-src 'none'; script-src 'self';", policy, StringComparison.Ordinal);
        Assert.DoesNotContain("unsafe", policy, StringComparison.Ordinal);
        Assert.Equal("no-cache", response.Headers.CacheControl);
        Assert.Equal("nosniff", response.Headers.XContentTypeOptions);
    }

    [Theory]
    [MemberData(nameof(Files))]
    public async Task Each_file_is_served_with_its_type_and_holds_nothing_of_elsewhere(string name)
    {
        var (response, body) = await AskAsync("GET", "/dashboard/" + name);
        Assert.Equal(200, response.StatusCode);
        Assert.Equal(
            Path.GetExtension(name) switch
            {
                ".html" => "text/html; charset=utf-8",
                ".css" => "text/css; charset=utf-8",
                ".svg" => "image/svg+xml",
                _ => "text/javascript; charset=utf-8",
            },
            response.ContentType);
        var text = Encoding.UTF8.GetString(body.ToArray()).Replace("http://www.w3.org/2000/svg", "", StringComparison.Ordinal);
        Assert.DoesNotMatch("https?://|innerHTML|outerHTML|insertAdjacentHTML|document\\.write|eval\\(|new Function", text);
        Assert.DoesNotMatch(@"<script>|\son[a-z]+=""|<style", text);
    }

    [Fact]
    public async Task All_files_together_are_small()
    {
        var total = 0L;
        foreach (var row in Files)
        {
            total += (await AskAsync("GET", "/dashboard/" + row.Data)).Body.Length;
        }

        Assert.InRange(total, 10_000, 200_000);
    }

    [Fact]
    public async Task The_page_has_the_build_that_the_server_reports()
    {
        var (_, body) = await AskAsync("GET");
        Assert.Matches("^[0-9a-f]{16}$", DashboardFiles.Build);
        Assert.Contains($"<meta name=\"build\" content=\"{DashboardFiles.Build}\">", Encoding.UTF8.GetString(body.ToArray()));
    }

    [Fact]
    public async Task Every_module_that_is_named_is_a_file()
    {
        foreach (var name in Files.Select(static row => row.Data))
        {
            var (_, body) = await AskAsync("GET", "/dashboard/" + name);
            var from = new Uri(new Uri("http://page/dashboard/"), name);
            foreach (Match match in Regex.Matches(
                Encoding.UTF8.GetString(body.ToArray()), @"(?:from |href=|src=)['""]([./][^'""]+)['""]"))
            {
                Assert.True(DashboardFiles.Has(new Uri(from, match.Groups[1].Value).AbsolutePath), $"{name} names {match.Groups[1].Value}");
            }
        }
    }

    [Fact]
    public async Task Who_has_the_file_already_gets_no_body()
    {
        var (first, _) = await AskAsync("GET");
        var (response, body) = await AskAsync("GET", tag: first.Headers.ETag!);
        Assert.Equal((304, 0L), (response.StatusCode, body.Length));
        Assert.Equal(200, (await AskAsync("GET", tag: "\"other\"")).Response.StatusCode);
    }

    [Theory]
    [InlineData("/dashboard/", false)]
    [InlineData("/dashboard/../index.html", false)]
    [InlineData("/dashboard/App.mjs", false)]
    [InlineData("/index.html", false)]
    [InlineData("", false)]
    [InlineData(null, false)]
    [InlineData("/dashboard/app.mjs", true)]
    public void Only_files_of_the_page_belong_to_it(string? path, bool isOne) => Assert.Equal(isOne, DashboardFiles.Has(path));

    [Fact]
    public async Task Another_method_is_refused()
    {
        var (response, body) = await AskAsync("POST");
        Assert.Equal((405, 0L), (response.StatusCode, body.Length));
        Assert.Equal("GET, HEAD", response.Headers.Allow);
    }

    private static async Task<(HttpResponse Response, MemoryStream Body)> AskAsync(
        string method, string path = DashboardFiles.Root, string? tag = null)
    {
        var body = new MemoryStream();
        var http = new DefaultHttpContext();
        http.Request.Method = method;
        http.Request.Path = path;
        http.Request.Headers.IfNoneMatch = tag;
        http.Response.Body = body;
        await DashboardFiles.WriteAsync(http);
        return (http.Response, body);
    }
}
