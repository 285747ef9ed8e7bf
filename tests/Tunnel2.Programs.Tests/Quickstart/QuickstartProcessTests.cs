using System.Net;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Quickstart;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Quickstart;

/// <summary>The built program itself, as a reader of the README runs it.</summary>
public sealed class QuickstartProcessTests
{
    private static readonly TimeSpan _limit = Limits.Start;
    private static readonly string _program = Path.Combine(AppContext.BaseDirectory, "tunnel2-quickstart.dll");

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Once_prints_what_the_sample_answers_and_ends_with_0()
    {
        await using var program = Run("--once");

        Assert.Equal(0, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Contains("HTTP/1.1 200 OK", program.Lines);
        Assert.Contains("GET / HTTP/1.1", program.Lines);
        Assert.Contains("X-Forwarded-For: 127.0.0.1", program.Lines);
    }

    [Fact]
    public async Task Once_writes_the_answer_and_nothing_else_to_the_output()
    {
        await using var program = ProcessRunner.Start("sh", ["-c", $"exec dotnet '{_program}' --once 2>/dev/null"]);

        Assert.Equal(0, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Equal("HTTP/1.1 200 OK", program.Lines[0]);
    }

    [Fact]
    public async Task Once_reaches_a_service_of_the_readers_own()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var program = Run($"{backend.Port}", "--once");

        Assert.Equal(0, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Equal(1, backend.RequestsCompleted);
    }

    [Fact]
    public async Task Once_ends_with_1_when_nothing_answers_at_the_port()
    {
        using var refused = new RefusedPort();
        await using var program = Run($"{refused.Port}", "--once");

        Assert.Equal(1, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Contains("Tunnel2-Error: backend-refused", program.Lines);
    }

    [Fact]
    public async Task It_serves_until_it_is_asked_to_stop_and_ends_with_0()
    {
        await using var program = Run();
        var url = await ReadPublicUrlAsync(program);
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });

        using var events = await client.SendAsync(Request(url, "/events"), HttpCompletionOption.ResponseHeadersRead, Cancellation);
        using var reader = new StreamReader(await events.Content.ReadAsStreamAsync(Cancellation));
        Assert.Matches("^data: [0-9]{2}:[0-9]{2}:[0-9]{2}$", await reader.ReadLineAsync(Cancellation));
        program.Terminate();

        // The clock is ended by its own hand: the tunnel does not cut it.
        await reader.ReadToEndAsync(Cancellation);
        Assert.Equal(0, await program.WaitForExitAsync(_limit, Cancellation));
    }

    [Fact]
    public async Task Taken_ports_are_replaced_by_free_ones_and_it_says_so()
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            taken.Bind(new IPEndPoint(IPAddress.Loopback, DefaultPort.Public));
            taken.Listen(1);
        }
        catch (SocketException)
        {
            // Another program has taken it, which does as well.
        }

        await using var program = Run();
        Assert.NotNull(
            await program.WaitForLineAsync(
                static line => line.StartsWith("Port 12000 is taken", StringComparison.Ordinal), _limit, Cancellation));
        var url = await ReadPublicUrlAsync(program);
        Assert.NotEqual(DefaultPort.Public, url.Port);
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        using var answer = await client.SendAsync(Request(url, "/"), Cancellation);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
    }

    [Fact]
    public async Task A_service_on_a_default_port_is_not_forwarded_to_itself()
    {
        await using var program = Run($"{DefaultPort.Public}");

        Assert.NotEqual(DefaultPort.Public, (await ReadPublicUrlAsync(program)).Port);
    }

    [Fact]
    public async Task A_mistake_is_one_line_and_the_usage_with_2()
    {
        await using var program = Run("--twice");

        Assert.Equal(2, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Equal(
            ["tunnel2-quickstart: '--twice' is not a flag; there are --once and --help", QuickstartArguments.Usage], program.Lines);
    }

    [Fact]
    public async Task An_engine_that_is_none_is_a_mistake()
    {
        await using var program = ProcessRunner.Start("sh", ["-c", $"TUNNEL2_ENGINE=fast exec dotnet '{_program}' --once"]);

        Assert.Equal(2, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Equal("tunnel2-quickstart: TUNNEL2_ENGINE: is not an engine; use auto, epoll or portable", program.Lines[0]);
    }

    [Fact]
    public async Task Help_ends_with_0()
    {
        await using var program = Run("--help");

        Assert.Equal(0, await program.WaitForExitAsync(_limit, Cancellation));
        Assert.Contains(QuickstartArguments.Usage, program.Lines);
    }

    private static ProcessRunner Run(params string[] args) => ProcessRunner.Start("dotnet", [_program, .. args]);

    private static async Task<Uri> ReadPublicUrlAsync(ProcessRunner program)
    {
        const string Label = "  Public URL   ";
        var line = await program.WaitForLineAsync(static line => line.StartsWith(Label, StringComparison.Ordinal), _limit, Cancellation);
        return new Uri(line[Label.Length..]);
    }

    private static HttpRequestMessage Request(Uri url, string path)
    {
        var request = new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{url.Port}{path}");
        request.Headers.Host = url.Authority;
        return request;
    }
}
