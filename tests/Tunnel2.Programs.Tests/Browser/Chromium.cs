using System.Net;
using Microsoft.Playwright;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>Debian's chromium, started once for all tests of a class. Each page has a profile of its own.</summary>
public sealed class Chromium : IAsyncLifetime
{
    private const string Program = "/usr/bin/chromium";

    private IPlaywright? _playwright;
    private IBrowser? _browser;

    public async ValueTask InitializeAsync()
    {
        if (!File.Exists(Program))
        {
            return;
        }

        _playwright = await Playwright.CreateAsync();
        _browser = await _playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions
        {
            ExecutablePath = Program,
            Headless = true,
            Args =
            [
                "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        });
    }

    public async ValueTask DisposeAsync()
    {
        if (_browser is not null)
        {
            await _browser.DisposeAsync();
        }

        _playwright?.Dispose();
    }

    /// <summary>Opens the dashboard; skips the test where there is no browser.</summary>
    /// <param name="admin">The admin listener.</param>
    /// <param name="address">What follows <c>#/</c> in the address.</param>
    /// <param name="width">The window's width.</param>
    /// <param name="theme">The system's choice.</param>
    /// <param name="prepare">Called before the page is loaded.</param>
    /// <param name="isLive">Whether to wait until the page is connected.</param>
    internal async Task<DashboardPage> OpenAsync(
        IPEndPoint admin, string address = "", int width = 1280, ColorScheme theme = ColorScheme.Light, Func<IPage, Task>? prepare = null,
        bool isLive = true)
    {
        var page = await NewPageAsync(admin, width, theme);
        if (prepare is not null)
        {
            await prepare(page.Page);
        }

        await page.GoAsync(address, isLive);
        return page;
    }

    /// <summary>Opens an empty page; skips the test where there is no browser.</summary>
    /// <param name="server">The only server that the page may call.</param>
    /// <param name="width">The window's width.</param>
    /// <param name="theme">The system's choice.</param>
    internal async Task<DashboardPage> NewPageAsync(IPEndPoint server, int width = 1280, ColorScheme theme = ColorScheme.Light)
    {
        Assert.SkipWhen(_browser is null, $"Needs {Program} (Debian package chromium).");
        var context = await _browser.NewContextAsync(new BrowserNewContextOptions
        {
            ViewportSize = new ViewportSize { Width = width, Height = 900 },
            ColorScheme = theme,
            ReducedMotion = ReducedMotion.Reduce,
            Locale = "en-GB",
        });
        return new DashboardPage(context, await context.NewPageAsync(), server);
    }
}
