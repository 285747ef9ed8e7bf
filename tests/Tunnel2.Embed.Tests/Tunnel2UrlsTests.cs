namespace Tunnel2.Embed.Tests;

public sealed class Tunnel2UrlsTests
{
    private readonly Tunnel2Urls _urls = new();

    [Fact]
    public async Task A_wait_ends_when_the_tunnel_opens_and_again_after_an_interruption()
    {
        Assert.Null(_urls.PublicUrl);
        var first = _urls.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(first.IsCompleted);
        _urls.Open(["https://web.example.com/", "not a url", "http://web.example.com/"]);
        Assert.Equal("https://web.example.com/", (await first).ToString());
        Assert.Equal(2, _urls.All.Count);
        _urls.Close();
        Assert.False(_urls.IsOpen);
        Assert.Equal("https://web.example.com/", _urls.PublicUrl!.ToString());
        var second = _urls.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(second.IsCompleted);
        _urls.Open(["https://other.example.com/"]);
        Assert.Equal("other.example.com", (await second).Host);
        Assert.True(_urls.IsOpen);
    }

    [Fact]
    public async Task The_end_ends_every_wait()
    {
        var waiting = _urls.WaitAsync(TestContext.Current.CancellationToken);
        _urls.End();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => _urls.WaitAsync(TestContext.Current.CancellationToken));
        _urls.End();
    }

    [Fact]
    public async Task The_end_counts_more_than_the_url_of_before()
    {
        _urls.Open(["https://web.example.com/"]);
        _urls.End();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => _urls.WaitAsync(TestContext.Current.CancellationToken));
        Assert.NotNull(_urls.PublicUrl);
    }
}
