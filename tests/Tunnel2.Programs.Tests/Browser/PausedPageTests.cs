using Tunnel2.Programs.Tests.Live;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>A page of the dashboard that does not keep up while the server is short.</summary>
public sealed class PausedPageTests(Chromium browser) : IClassFixture<Chromium>
{
    [Fact]
    public async Task A_list_that_was_paused_says_so_shows_the_gap_and_continues_by_itself()
    {
        await using var hub = await ShortHub.StartAsync();
        await using var page = await browser.OpenAsync(hub.EndPoint, "requests");
        await hub.PublishEachAsync("node.requests", "/before");
        await page.Row("/before").WaitForAsync();
        await hub.PauseAsync();
        await page.WaitForStateAsync("paused");
        await page.WaitForTextAsync("#state", "paused");
        await page.WaitForTextAsync("#notice", "The server has paused this page since");

        // The channel keeps the last four batches; the first three of these reach no page.
        await hub.PublishEachAsync("node.requests", ShortHub.Targets("/missed/", 7));
        Assert.Equal(0, await page.Row("/missed/").CountAsync());
        await hub.ContinueAsync();
        await page.WaitForStateAsync("live");
        await page.Row("/missed/7").WaitForAsync();
        await page.Row("gap: up to 3 requests are missing here").WaitForAsync();
        ShortHub.Publish(hub.Entry, "/after");
        await page.Row("/after").WaitForAsync();
        var targets = await page.Page.Locator(".rows .target").AllInnerTextsAsync();
        Assert.Equal(
            ["/after", "/missed/7", "/missed/6", "/missed/5", "/missed/4", "gap: up to 3 requests are missing here", "/before"], targets);
        await page.WaitForTextAsync("#list-note", "6 of 6 requests");
        Assert.True(await page.Page.Locator("#notice").IsHiddenAsync());
        page.AssertClean();
    }

    [Fact]
    public async Task While_it_is_paused_a_page_shows_no_figures_of_the_present()
    {
        const string First = "() => document.querySelector('.tile dd').textContent";
        await using var hub = await ShortHub.StartAsync();
        await using var page = await browser.OpenAsync(hub.EndPoint);
        await page.Page.WaitForFunctionAsync($"{First} === '0'");
        await hub.PauseAsync();
        await page.WaitForStateAsync("paused");
        await page.Page.WaitForFunctionAsync($"{First} === '–'");
        await hub.ContinueAsync();
        await page.WaitForStateAsync("live");
        await page.Page.WaitForFunctionAsync($"{First} === '0'");
        page.AssertClean();
    }

    [Fact]
    public async Task A_sessions_page_shows_what_happened_before_it_was_opened()
    {
        await using var hub = await ShortHub.StartAsync();

        // Times that are still to come: the server's clock makes no record late, and the later ones close the windows of those before.
        var soon = DateTimeOffset.UtcNow.AddSeconds(5);
        ShortHub.Publish(hub.Entry, "/a", 500, soon);
        ShortHub.Publish(hub.Entry, "/b", 200, soon.AddSeconds(30));
        ShortHub.Publish(hub.Entry, "/c", 200, soon.AddSeconds(60));
        await using var page = await browser.OpenAsync(hub.EndPoint, "session/web");
        await page.WaitForTextAsync("main li", "The service answered with an error");
        await page.WaitForTextAsync("main li", "1 ×");
        page.AssertClean();
    }
}
