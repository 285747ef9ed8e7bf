using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Transport.Tests.Outputs;

public sealed class HttpFailureTests
{
    [Theory]
    [InlineData("http", "", "ended prematurely")]
    [InlineData("http", "SSH-2.0-\u001b[31mOpenSSH\r\n", "SSH-2.0-")]
    [InlineData("https", "HTTP/1.1 400 Bad Request\r\n\r\n", "frame")]
    public async Task A_server_of_another_protocol_is_named_by_what_it_did(string scheme, string answer, string words)
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var serving = AnswerAsync(listener, answer);
        var reason = await ReasonAsync($"{scheme}://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/");
        listener.Stop();
        await serving;
        Assert.Contains(words, reason, StringComparison.Ordinal);
        Assert.DoesNotContain("rror occurred", reason, StringComparison.Ordinal);
        Assert.DoesNotContain("inner exception", reason, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', reason);
    }

    [Fact]
    public async Task A_port_without_a_server_is_named_with_its_address()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var port = ((IPEndPoint)listener.LocalEndpoint).Port;
        listener.Stop();
        Assert.Contains($"(127.0.0.1:{port})", await ReasonAsync($"http://127.0.0.1:{port}/"), StringComparison.Ordinal);
    }

    private static async Task<string> ReasonAsync(string url)
    {
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        return HttpFailure.Reason(await Assert.ThrowsAsync<HttpRequestException>(
            () => client.GetAsync(new Uri(url), TestContext.Current.CancellationToken)));
    }

    /// <summary>Answers until the listener stops: the client tries again where it got nothing.</summary>
    private static async Task AnswerAsync(TcpListener listener, string answer)
    {
        try
        {
            while (true)
            {
                using var visitor = await listener.AcceptTcpClientAsync(TestContext.Current.CancellationToken);
                var stream = visitor.GetStream();
                _ = await stream.ReadAsync(new byte[4096], TestContext.Current.CancellationToken);
                await stream.WriteAsync(Encoding.ASCII.GetBytes(answer), TestContext.Current.CancellationToken);
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException or IOException)
        {
            // The listener has stopped, or the client has left.
        }
    }
}
