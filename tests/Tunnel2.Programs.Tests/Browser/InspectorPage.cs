using System.Net;
using System.Net.Http.Headers;
using Microsoft.Playwright;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>What tests of the inspector's page do and look at.</summary>
internal static class InspectorPage
{
    /// <summary>Opens a page of the inspector.</summary>
    public static async Task<DashboardPage> OpenAsync(
        Chromium browser, IPEndPoint server, string path, int width = 1280, ColorScheme theme = ColorScheme.Light)
    {
        var page = await browser.NewPageAsync(server, width, theme);
        await page.Page.GotoAsync($"http://{server}{path}");
        return page;
    }

    /// <summary>The page's own word: Playwright hears of a change within a page later.</summary>
    public static Task<string> AddressAsync(DashboardPage page) => page.Page.EvaluateAsync<string>("() => location.href");

    /// <summary>Waits until the page has its list.</summary>
    public static Task LiveAsync(DashboardPage page) => page.Page.Locator("#state.good").WaitForAsync();

    /// <summary>The exchanges of the list that have a text.</summary>
    public static ILocator Row(DashboardPage page, string text) =>
        page.Page.Locator("#rows a").Filter(new LocatorFilterOptions { HasText = text });

    /// <summary>Inspects the session <c>web</c>.</summary>
    public static async Task InspectAsync(IPEndPoint admin, string? token = null)
    {
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        client.DefaultRequestHeaders.Authorization = token is null ? null : new AuthenticationHeaderValue("Bearer", token);
        using var response = await client.PutAsync(
            new Uri($"http://{admin}/api/v1/sessions/web/inspection"), null, TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
    }

    /// <summary>A page fits, and axe-core finds nothing.</summary>
    /// <param name="page">The page.</param>
    /// <param name="theme">Its theme.</param>
    /// <param name="picture">The name of its picture, where one is wanted; null: it gets none.</param>
    public static async Task LookAsync(DashboardPage page, ColorScheme theme, string? picture = null)
    {
        var width = page.Page.ViewportSize!.Width;
        var room = await page.Page.EvaluateAsync<int>("() => document.documentElement.scrollWidth - innerWidth");
        Assert.True(room <= 0, $"{room} pixels wider than {width}");
        Assert.Equal("", await DashboardPictures.ViolationsAsync(page));
        if (picture is not null)
        {
            await DashboardPictures.SaveAsync(page, "inspector", picture, width, theme);
        }
    }
}
