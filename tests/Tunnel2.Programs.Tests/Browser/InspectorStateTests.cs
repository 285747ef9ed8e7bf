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
}
