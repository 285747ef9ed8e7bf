using System.Net;
using Tunnel2.Quickstart.Sample;

namespace Tunnel2.Quickstart.Tests.Sample;

public sealed class SampleBackendTests
{
    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_browser_gets_a_page_in_which_what_arrived_is_text()
    {
        await using var backend = await SampleBackend.StartAsync();
        using var client = new HttpClient();
        using var request = new HttpRequestMessage(HttpMethod.Get, $"http://127.0.0.1:{backend.Port}/?<script>");
        request.Headers.Accept.ParseAdd("text/html");
        request.Headers.Add("X-Test", "<script>alert(1)</script>");

        using var answer = await client.SendAsync(request, Cancellation);
        var page = await answer.Content.ReadAsStringAsync(Cancellation);

        Assert.Equal("text/html", answer.Content.Headers.ContentType?.MediaType);
        Assert.Contains("&lt;script&gt;alert(1)&lt;/script&gt;", page, StringComparison.Ordinal);
        Assert.DoesNotContain("<script>alert", page, StringComparison.Ordinal);
        Assert.DoesNotContain("://", page, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_echo_comes_back_byte_for_byte_and_never_as_a_page()
    {
        await using var backend = await SampleBackend.StartAsync();
        using var client = new HttpClient();
        var sent = new byte[100_000];
        new Random(1).NextBytes(sent);

        using var answer = await client.PostAsync($"http://127.0.0.1:{backend.Port}/echo", new ByteArrayContent(sent), Cancellation);

        Assert.Equal(sent, await answer.Content.ReadAsByteArrayAsync(Cancellation));
        Assert.Equal("text/plain", answer.Content.Headers.ContentType?.MediaType);
    }

    [Fact]
    public async Task What_is_not_there_is_404()
    {
        await using var backend = await SampleBackend.StartAsync();
        using var client = new HttpClient();

        using var answer = await client.GetAsync($"http://127.0.0.1:{backend.Port}/nothing", Cancellation);

        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
    }
}
