using Microsoft.Playwright;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Pools;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;
using static Tunnel2.Programs.Tests.Browser.InspectorPage;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>The inspector's page of a cluster, whose nodes are processes: one of them is killed, and is started again.</summary>
public sealed class ClusterInspectorPageTests(Chromium browser, PostgresServer server)
    : IClassFixture<Chromium>, IClassFixture<PostgresServer>
{
    /// <summary>With TUNNEL2_PICTURES set to a folder this also saves pictures (eng/pictures.sh).</summary>
    [Fact]
    public async Task A_killed_node_is_named_with_what_is_gone_and_the_exchanges_of_the_other_one_stay()
    {
        await using var cluster = await ClusterProcesses.StartAsync(server, 2);
        var (kept, killed) = (cluster.Nodes[0], cluster.Nodes[1]);
        await using var service = new NamedService("a");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(kept.Uplink.Port, service.Port) with
        {
            Further = [new ServerAccess(new ServerEndpoint("127.0.0.1", killed.Uplink.Port), null, null, IsWebSocket: false)],
        });
        await agent.Events.WaitForServersAsync(2);
        await InspectAsync(kept.Admin);
        await using var page = await OpenAsync(browser, kept.Admin, "/inspector/#/web/");
        await LiveAsync(page);
        await VisitAsync(kept, "/at-e1");
        await VisitAsync(killed, "/at-e2");
        await Row(page, "/at-e1").Filter(new LocatorFilterOptions { HasText = "· e1" }).WaitForAsync();
        await Row(page, "/at-e2").Filter(new LocatorFilterOptions { HasText = "· e2" }).WaitForAsync();
        Assert.False(await page.Page.Locator("#away").IsVisibleAsync());

        killed.Runner.Kill();
        await page.WaitForTextAsync("#away p", "Node e2 is lost");
        await page.WaitForTextAsync("#away p", "Its requests are not in this list");
        await Row(page, "/at-e2").WaitForAsync(new LocatorWaitForOptions { State = WaitForSelectorState.Detached });
        await Row(page, "/at-e1").ClickAsync();
        await page.WaitForTextAsync("#detail h2", "/at-e1");
        await VisitAsync(kept, "/later-at-e1");
        await Row(page, "/later-at-e1").WaitForAsync();
        await LookAtAllAsync(page, "lost");

        // It has nothing of what was before, which the page says from the first moment on.
        await killed.StartAgainAsync();
        await agent.Events.WaitForServersAsync(2);
        await VisitAsync(killed, "/again-at-e2");
        await Row(page, "/again-at-e2").WaitForAsync();
        await page.WaitForTextAsync("#away p", "was started again: what it had kept before is gone");
        Assert.Equal(1, await page.Page.Locator("#away p").CountAsync());
        await LookAtAllAsync(page, "restarted");
        page.AssertClean();
    }

    /// <summary>Looks at the list in each theme and width.</summary>
    private static async Task LookAtAllAsync(DashboardPage page, string picture)
    {
        await page.Page.Keyboard.PressAsync("Escape");
        foreach (var (width, theme) in DashboardPictures.Looks("inspector"))
        {
            await page.Page.SetViewportSizeAsync(width, 900);
            await page.Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = theme });
            await LookAsync(page, theme, picture);
        }
    }

    private static async Task VisitAsync(EntryProcess node, string target)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(node.Public);
        Assert.Equal(200, (await visitor.ExchangeAsync(target, "web.localhost")).Head.StatusCode);
    }
}
