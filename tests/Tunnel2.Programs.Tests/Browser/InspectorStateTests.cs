using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Inspecting;
using static Tunnel2.Programs.Tests.Browser.InspectorPage;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>What the inspector's page says of its agent, in a real browser.</summary>
public sealed class InspectorStateTests(Chromium browser) : IClassFixture<Chromium>
{
    [Fact]
    public Task An_agent_without_its_server_is_not_live() => InspectedTunnel.RunAsync(async inspected =>
    {
        await using var page = await OpenAsync(browser, inspected.EndPoint, "/");
        await page.WaitForTextAsync("#state", "live");
        await inspected.Tunnel.Agent.StopAsync();
        await page.WaitForTextAsync("#state", "the agent is not connected to its server");
        await page.Page.ClickAsync("#pause");
        await page.WaitForTextAsync("#state", "paused");
        await page.Page.ClickAsync("#pause");
        await page.WaitForTextAsync("#state", "the agent is not connected to its server");
        page.AssertClean();
    });

    [Fact]
    public Task A_link_to_a_request_of_an_earlier_start_shows_no_other_one() => TunnelFixture.RunAsync(async tunnel =>
    {
        var admin = tunnel.Entry.Admin;
        await InspectAsync(admin);
        await using var page = await OpenAsync(browser, admin, "/inspector/#/web/");
        await LiveAsync(page);
        await tunnel.ExchangeAsync("/status/201");
        await Row(page, "/status/201").ClickAsync();
        await page.WaitForTextAsync("#detail h2", "/status/201");
        await page.Page.ClickAsync("#mark");
        await page.WaitForTextAsync("#mark", "Marked");
        var first = await AddressAsync(page);
        await page.Page.ReloadAsync();
        await page.WaitForTextAsync("#detail h2", "/status/201");

        await page.Page.ClickAsync("#end");
        await page.WaitForTextAsync("#absent", "is not inspected");
        await page.Page.ClickAsync("#inspect");
        await LiveAsync(page);
        foreach (var path in (string[])["/status/202", "/status/203"])
        {
            await tunnel.ExchangeAsync(path);
            await Row(page, path).WaitForAsync();
        }

        await page.Page.GotoAsync(first);
        await page.WaitForTextAsync("#detail", "Request #1 of this link is gone");
        Assert.Equal(0, await page.Page.Locator("#rows a[aria-current=true]").CountAsync());
        await Row(page, "/status/202").ClickAsync();
        await page.WaitForTextAsync("#detail h2", "/status/202");
        await Row(page, "/status/203").ClickAsync();
        await page.WaitForTextAsync("#detail h2", "/status/203");
        await page.Page.ClickAsync("#compare");
        await page.WaitForTextAsync("#dialog", "Request #1 of this link is gone");
        page.ForgetStatus(404);
        page.AssertClean();
    });
}
