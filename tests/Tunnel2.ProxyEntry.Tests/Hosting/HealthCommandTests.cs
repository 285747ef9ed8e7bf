using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class HealthCommandTests : IDisposable
{
    private readonly StringWriter _output = new();
    private readonly StringWriter _error = new();

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
    }

    [Theory]
    [InlineData("200 OK", 0)]
    [InlineData("503 Service Unavailable", 1)]
    [InlineData("302 Found", 1)]
    public async Task The_answer_decides_the_exit_code(string status, int exitCode)
    {
        await using var server = RawTcpServer.StartAnswering(
            $"HTTP/1.1 {status}\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");

        Assert.Equal(exitCode, await HealthCommand.RunAsync(["health", $"http://127.0.0.1:{server.Port}/health/ready"], _output, _error));
        Assert.Contains(status[..3], _output.ToString());
    }

    [Fact]
    public async Task A_port_without_a_listener_is_not_ready()
    {
        var port = 0;
        await using (var gone = RawTcpServer.StartAnswering(""))
        {
            port = gone.Port;
        }

        Assert.Equal(1, await HealthCommand.RunAsync(["health", $"http://127.0.0.1:{port}/"], _output, _error));
        Assert.Contains("did not answer", _output.ToString());
    }

    [Fact]
    public async Task Programs_get_the_answer_as_JSON()
    {
        await using var server = RawTcpServer.StartAnswering("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        var url = $"http://127.0.0.1:{server.Port}/";
        Assert.Equal(1, await HealthCommand.RunAsync(["health", "--json", url], _output, _error));
        Assert.Equal($$"""{"url":"{{url}}","ready":false,"status":503}""", _output.ToString().Trim());
    }

    [Theory]
    [InlineData("'12002' is not a URL such as http://127.0.0.1:12002/health/ready", "12002")]
    [InlineData("'ftp://127.0.0.1/' is not a URL such as", "ftp://127.0.0.1/")]
    [InlineData("'more' is too much", "http://127.0.0.1/", "more")]
    [InlineData("'--jsno' is not known, did you mean '--json'?", "--jsno")]
    public async Task Wrong_words_are_named_with_the_usage_after_them(string mistake, params string[] args)
    {
        Assert.Equal(2, await HealthCommand.RunAsync(["health", .. args], _output, _error));
        Assert.StartsWith($"tunnel2-entry: {mistake}", _error.ToString());
        Assert.EndsWith(EntryHelp.HealthUsage, _error.ToString().TrimEnd());
    }

    [Fact]
    public void Only_its_own_word_is_meant()
    {
        Assert.True(HealthCommand.IsMeant(["health"]));
        Assert.False(HealthCommand.IsMeant(["--Tunnel2:Domain=health"]));
        Assert.False(HealthCommand.IsMeant([]));
    }
}
