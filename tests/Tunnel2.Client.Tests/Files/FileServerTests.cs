using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Files;

namespace Tunnel2.Client.Tests.Files;

/// <summary>The server of <c>tunnel2 file</c>, called as the agent calls it.</summary>
public sealed class FileServerTests : IAsyncDisposable
{
    private readonly DirectoryInfo _outside = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly string _root;
    private FileServer? _server;
    private HttpClient? _client;

    public FileServerTests()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The tests make links and call a Unix socket.");
        _root = Directory.CreateDirectory(Path.Combine(_outside.FullName, "site")).FullName;
        Directory.CreateDirectory(Path.Combine(_root, "docs"));
        Directory.CreateDirectory(Path.Combine(_root, "empty folder"));
        Directory.CreateDirectory(Path.Combine(_root, ".git"));
        Write("index.html", "<h1>home</h1>");
        Write("docs/index.html", "docs");
        Write("digits.txt", "0123456789");
        Write("nothing.txt", "");
        Write("ä b&c.txt", "umlaut");
        Write(".env", "SECRET");
        Write(".git/config", "SECRET");
        File.WriteAllText(Path.Combine(_outside.FullName, "secret.txt"), "SECRET");
        File.CreateSymbolicLink(Path.Combine(_root, "out.txt"), Path.Combine(_outside.FullName, "secret.txt"));
        File.CreateSymbolicLink(Path.Combine(_root, "up.txt"), "../secret.txt");
        File.CreateSymbolicLink(Path.Combine(_root, "hidden.txt"), ".env");
        File.CreateSymbolicLink(Path.Combine(_root, "in.txt"), "digits.txt");
        File.CreateSymbolicLink(Path.Combine(_root, "loop"), "loop");
        Directory.CreateSymbolicLink(Path.Combine(_root, "outside"), _outside.FullName);

        // Read word by word it stays inside; the system follows the link first.
        File.CreateSymbolicLink(Path.Combine(_root, "tricky.txt"), "outside/../site/../secret.txt");
    }

    public async ValueTask DisposeAsync()
    {
        _client?.Dispose();
        if (_server is not null)
        {
            await _server.DisposeAsync();
        }

        _outside.Delete(recursive: true);
    }

    private void Write(string name, string text) => File.WriteAllText(Path.Combine(_root, name), text);

    private HttpClient Start(bool lists = false)
    {
        _server = FileServer.Start(_root, lists, TimeProvider.System);
        string path = _server.Target.SocketPath!;
        return _client = new HttpClient(new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseProxy = false,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        })
        { BaseAddress = new Uri("http://files/") };
    }

    /// <summary>Sends a head as it is, and reads to the end of the connection.</summary>
    private async Task<string> SendRawAsync(string head)
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(new UnixDomainSocketEndPoint(_server!.Target.SocketPath!), TestContext.Current.CancellationToken);
        await socket.SendAsync(Encoding.Latin1.GetBytes(head), TestContext.Current.CancellationToken);
        socket.Shutdown(SocketShutdown.Send);
        var text = new StringBuilder();
        byte[] buffer = new byte[4096];
        while (await socket.ReceiveAsync(buffer, TestContext.Current.CancellationToken) is > 0 and var count)
        {
            text.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }

        return text.ToString();
    }

    [Theory]
    [InlineData("/", "<h1>home</h1>", "text/html")]
    [InlineData("/index.html", "<h1>home</h1>", "text/html")]
    [InlineData("/docs/", "docs", "text/html")]
    [InlineData("/digits.txt?x=1", "0123456789", "text/plain")]
    [InlineData("/nothing.txt", "", "text/plain")]
    [InlineData("/%C3%A4%20b&c.txt", "umlaut", "text/plain")]
    [InlineData("/in.txt", "0123456789", "text/plain")]
    public async Task What_is_there_is_served(string path, string body, string type)
    {
        using var answer = await Start().GetAsync(new Uri(path, UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(body, await answer.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        Assert.Equal(type, answer.Content.Headers.ContentType!.MediaType);
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
    }

    [Theory]
    [InlineData("/.env")]
    [InlineData("/%2eenv")]
    [InlineData("/.git/config")]
    [InlineData("/docs/../.env")]
    [InlineData("/../secret.txt")]
    [InlineData("/%2e%2e/secret.txt")]
    [InlineData("/..%2fsecret.txt")]
    [InlineData("/docs/%2e%2e/%2e%2e/secret.txt")]
    [InlineData("/..%5csecret.txt")]
    [InlineData("/%252e%252e/secret.txt")]
    [InlineData("/out.txt")]
    [InlineData("/up.txt")]
    [InlineData("/hidden.txt")]
    [InlineData("/tricky.txt")]
    [InlineData("/loop")]
    [InlineData("/outside/secret.txt")]
    [InlineData("/outside/site/digits.txt%00")]
    [InlineData("/digits.txt/")]
    [InlineData("/%ff")]
    [InlineData("/%c0%ae%c0%ae/secret.txt")]
    [InlineData("/%zz")]
    [InlineData("/%")]
    [InlineData("/none")]
    [InlineData("/empty%20folder/")]
    public async Task What_is_outside_hidden_or_not_there_is_not_served(string path)
    {
        Start();
        string answer = await SendRawAsync($"GET {path} HTTP/1.1\r\nHost: files\r\nConnection: close\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 404 ", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("SECRET", answer, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_a_long_path_no_more_is_looked_at_than_the_first_name_that_is_missing()
    {
        var finder = new FileFinder(_root);
        string path = string.Concat(Enumerable.Repeat("/a", 16_000));
        long before = GC.GetAllocatedBytesForCurrentThread();
        Assert.Equal(FileFindingKind.None, finder.Find(path).Kind);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 16 * 1024 * 1024);
    }

    [Fact]
    public async Task A_pipe_among_the_files_holds_up_nothing()
    {
        using (var make = System.Diagnostics.Process.Start("mkfifo", [Path.Combine(_root, "pipe")]))
        {
            await make.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        using var answer = await Start().GetAsync(new Uri("/pipe", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.Equal(0, answer.Content.Headers.ContentLength);
    }

    [Theory]
    [InlineData("/docs", "/docs/")]
    [InlineData("//docs", "/docs/")]
    [InlineData("/empty%20folder", "/empty%20folder/")]
    [InlineData("/docs?a=1&b=%2f?", "/docs/?a=1&b=%2f?")]
    public async Task A_folder_without_its_slash_leads_to_it_on_the_same_host(string path, string location)
    {
        Start();
        string answer = await SendRawAsync($"GET {path} HTTP/1.1\r\nHost: files\r\nConnection: close\r\n\r\n");
        Assert.Contains($"\r\nLocation: {location}\r\n", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("bytes=2-4", 206, "234", "bytes 2-4/10")]
    [InlineData("bytes=7-", 206, "789", "bytes 7-9/10")]
    [InlineData("bytes=-2", 206, "89", "bytes 8-9/10")]
    [InlineData("bytes=-20", 206, "0123456789", "bytes 0-9/10")]
    [InlineData("bytes=8-99999999999999999", 206, "89", "bytes 8-9/10")]
    [InlineData("bytes=10-", 416, null, "bytes */10")]
    [InlineData("bytes=-0", 416, null, "bytes */10")]
    [InlineData("bytes=4-2", 200, "0123456789", null)]
    [InlineData("bytes=0-1,3-4", 200, "0123456789", null)]
    [InlineData("bytes=-", 200, "0123456789", null)]
    [InlineData("bytes=x-y", 200, "0123456789", null)]
    [InlineData("lines=1-2", 200, "0123456789", null)]
    public async Task Ranges(string range, int status, string? body, string? contentRange)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/digits.txt");
        request.Headers.TryAddWithoutValidation("Range", range);
        using var answer = await Start().SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(status, (int)answer.StatusCode);
        Assert.Equal(contentRange, answer.Content.Headers.ContentRange?.ToString());
        if (body is not null)
        {
            Assert.Equal(body, await answer.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        }
    }

    [Theory]
    [InlineData("Range: bytes=0-1\r\nRange: bytes=3-4\r\n")]
    [InlineData("Range: bytes=0-1\r\nrange: bytes=0-1\r\n")]
    [InlineData("Range: bytes=20-\r\nRange: bytes=0-1\r\n")]
    [InlineData("Range: bytes=0-1\r\nIf-Range: \"x\"\r\nIf-Range: \"y\"\r\n")]
    [InlineData("If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT\r\nIf-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT\r\n")]
    public async Task A_condition_that_is_no_list_and_is_given_twice_has_no_effect(string fields)
    {
        Start();
        string answer = await SendRawAsync($"GET /digits.txt HTTP/1.1\r\nHost: files\r\n{fields}Connection: close\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\n0123456789", answer, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Conditions()
    {
        HttpClient client = Start();
        using var first = await client.GetAsync(new Uri("/digits.txt", UriKind.Relative), TestContext.Current.CancellationToken);
        EntityTagHeaderValue tag = first.Headers.ETag!;
        DateTimeOffset modified = first.Content.Headers.LastModified!.Value;

        Assert.Equal(304, await StatusAsync("If-None-Match", tag.ToString()));
        Assert.Equal(304, await StatusAsync("If-None-Match", $"\"x\", W/{tag}"));
        Assert.Equal(304, await StatusAsync("If-None-Match", "*"));
        Assert.Equal(200, await StatusAsync("If-None-Match", "\"x\""));
        Assert.Equal(304, await StatusAsync("If-Modified-Since", modified.ToString("R", CultureInfo.InvariantCulture)));
        Assert.Equal(200, await StatusAsync("If-Modified-Since", modified.AddSeconds(-1).ToString("R", CultureInfo.InvariantCulture)));
        Assert.Equal(200, await StatusAsync("If-Modified-Since", "yesterday"));
        Assert.Equal(412, await StatusAsync("If-Match", "\"x\""));
        Assert.Equal(200, await StatusAsync("If-Match", tag.ToString()));
        Assert.Equal(412, await StatusAsync("If-Unmodified-Since", modified.AddSeconds(-1).ToString("R", CultureInfo.InvariantCulture)));
        Assert.Equal(206, await StatusAsync("If-Range", tag.ToString(), "bytes=0-1"));
        Assert.Equal(200, await StatusAsync("If-Range", "\"x\"", "bytes=0-1"));
        Assert.Equal(206, await StatusAsync("If-Range", modified.ToString("R", CultureInfo.InvariantCulture), "bytes=0-1"));

        async Task<int> StatusAsync(string name, string value, string? range = null)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, "/digits.txt");
            request.Headers.TryAddWithoutValidation(name, value);
            if (range is not null)
            {
                request.Headers.TryAddWithoutValidation("Range", range);
            }

            using var answer = await client.SendAsync(request, TestContext.Current.CancellationToken);
            return (int)answer.StatusCode;
        }
    }

    [Fact]
    public async Task A_file_of_the_future_is_not_said_to_be_newer_than_its_answer()
    {
        File.SetLastWriteTimeUtc(Path.Combine(_root, "digits.txt"), DateTime.UtcNow.AddYears(1));
        HttpClient client = Start();
        using var answer = await client.GetAsync(new Uri("/digits.txt", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.True(answer.Content.Headers.LastModified <= answer.Headers.Date, $"{answer.Content.Headers.LastModified}");

        // Nor is it the same as what was seen at that time.
        using var request = new HttpRequestMessage(HttpMethod.Get, "/digits.txt");
        request.Headers.IfModifiedSince = answer.Content.Headers.LastModified;
        using var again = await client.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, again.StatusCode);
    }

    [Fact]
    public async Task A_condition_may_be_in_several_lines()
    {
        using var first = await Start().GetAsync(new Uri("/digits.txt", UriKind.Relative), TestContext.Current.CancellationToken);
        string tag = first.Headers.ETag!.ToString();
        foreach (var (name, status) in new[] { ("If-Match", "200"), ("If-None-Match", "304") })
        {
            string answer = await SendRawAsync(
                $"GET /digits.txt HTTP/1.1\r\nHost: files\r\n{name}: \"x\"\r\n{name}: {tag}\r\nConnection: close\r\n\r\n");
            Assert.StartsWith($"HTTP/1.1 {status} ", answer, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_head_has_the_length_and_no_body_and_other_methods_are_refused()
    {
        HttpClient client = Start();
        using var head = new HttpRequestMessage(HttpMethod.Head, "/digits.txt");
        using var answer = await client.SendAsync(head, TestContext.Current.CancellationToken);
        Assert.Equal(10, answer.Content.Headers.ContentLength);

        using var content = new StringContent("body");
        using var post = await client.PostAsync(new Uri("/digits.txt", UriKind.Relative), content, TestContext.Current.CancellationToken);
        Assert.Equal(405, (int)post.StatusCode);
        Assert.Equal(["GET", "HEAD"], post.Content.Headers.Allow);
    }

    [Fact]
    public async Task A_listing_is_made_only_when_asked_for_and_shows_nothing_hidden()
    {
        File.Delete(Path.Combine(_root, "index.html"));
        Write("<img src=x>.txt", "");
        string[] noNames = OperatingSystem.IsWindows() ? [] : ["back\\slash.txt", "bell\a.txt"];
        Assert.All(noNames, name => Write(name, ""));
        using var answer = await Start(lists: true).GetAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken);
        string page = await answer.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        Assert.Contains("href=\"./digits.txt\"", page, StringComparison.Ordinal);
        Assert.Contains("href=\"./docs/\"", page, StringComparison.Ordinal);
        Assert.Contains("href=\"./%C3%A4%20b%26c.txt\"", page, StringComparison.Ordinal);
        Assert.DoesNotContain("<img", page, StringComparison.Ordinal);
        Assert.All(
            [".env", ".git", "out.txt", "up.txt", "hidden.txt", "outside", "tricky", "loop"],
            name => Assert.DoesNotContain(name, page, StringComparison.Ordinal));

        // They could not be asked for.
        Assert.All(["slash.txt", "bell"], name => Assert.DoesNotContain(name, page, StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_listing_that_is_not_whole_says_so()
    {
        for (int i = 0; i <= 10_000; i++)
        {
            Write($"empty folder/{i}", "");
        }

        HttpClient client = Start(lists: true);
        string page = await client.GetStringAsync(new Uri("/empty%20folder/", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.Contains("more than 10000 names", page, StringComparison.Ordinal);
        File.Delete(Path.Combine(_root, "index.html"));
        page = await client.GetStringAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.DoesNotContain("more than", page, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Several_requests_share_a_connection()
    {
        Start();
        const string Request = "GET /digits.txt HTTP/1.1\r\nHost: files\r\n\r\n";
        string answers = await SendRawAsync(Request + Request + "GET / HTTP/1.1\r\nHost: files\r\nConnection: close\r\n\r\n");
        Assert.Equal(3, answers.Split("HTTP/1.1 200 OK").Length - 1);
        Assert.EndsWith("<h1>home</h1>", answers, StringComparison.Ordinal);
    }

    [Fact]
    public async Task More_files_than_the_limit_are_served_one_after_another()
    {
        HttpClient client = Start();
        Task<string>[] answers =
        [
            .. Enumerable.Range(0, FileServer.MostFiles + 100).Select(
                _ => client.GetStringAsync(new Uri("/digits.txt", UriKind.Relative), TestContext.Current.CancellationToken)),
        ];
        Assert.All(await Task.WhenAll(answers), static body => Assert.Equal("0123456789", body));
    }

    [Fact]
    public async Task Nothing_is_left_when_it_ends()
    {
        HttpClient client = Start();
        await client.GetStringAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken);
        string folder = Path.GetDirectoryName(_server!.Target.SocketPath!)!;
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(folder));
        }

        await _server.DisposeAsync();
        _server = null;
        Assert.False(Directory.Exists(folder));
    }
}
