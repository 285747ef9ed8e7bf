using System.Diagnostics;
using System.Globalization;
using Microsoft.Playwright;
using Tunnel2.Programs.Tests.Processes;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>Pictures of the dashboard's pages, and what axe-core says about them.</summary>
internal static class DashboardPictures
{
    private static readonly string? _folder = Environment.GetEnvironmentVariable("TUNNEL2_PICTURES");
    private static readonly Lazy<string?> _axe = new(static () =>
        Path.Combine(NodeScripts.Folder, "node_modules", "axe-core", "axe.min.js") is var path && File.Exists(path)
            ? File.ReadAllText(path)
            : null);

    private static readonly TimeSpan _warmup = _folder is null ? TimeSpan.Zero
        : TimeSpan.FromSeconds(int.Parse(
            Environment.GetEnvironmentVariable("TUNNEL2_PICTURES_SECONDS") ?? "60", NumberStyles.None, CultureInfo.InvariantCulture));

    /// <summary>The width of a screen of 4K. Pages are the same there as on others, so axe-core does not look again.</summary>
    public const int Wide = 3840;

    /// <summary>The widths and themes to look at: for pictures all, otherwise each once.</summary>
    public static IEnumerable<(int Width, ColorScheme Theme)> Looks(string state) => (_folder is null, state) switch
    {
        (true, "empty") => [(1280, ColorScheme.Light)],
        (true, "busy") => [(Wide, ColorScheme.Light)],
        (false, "busy") => [(1280, ColorScheme.Light), (400, ColorScheme.Dark), (Wide, ColorScheme.Light)],
        _ => [(1280, ColorScheme.Light), (400, ColorScheme.Dark)],
    };

    /// <summary>How long a test with its pictures may take.</summary>
    public static TimeSpan Patience { get; } = _warmup + TimeSpan.FromSeconds(_folder is null ? 120 : 180);

    /// <summary>
    /// Where pictures are wanted: makes requests for a while, and then until it is disposed of, so that the pages show some.
    /// </summary>
    public static async Task<IAsyncDisposable> KeepBusyAsync(Func<Task> request)
    {
        var traffic = new Traffic(_folder is null ? null : request);
        await traffic.BeginAsync();
        return traffic;
    }

    /// <summary>Waits until a page shows its data.</summary>
    public static Task ReadyAsync(DashboardPage page, string address, string state) => (address, state) switch
    {
        ("", "guarded") => page.WaitForTextAsync("section.reasons th", "broken.pem"),
        ("", _) => page.WaitForTextAsync("th", "Slow watchers, paused"),
        ("session/web", "failing") => page.WaitForTextAsync("section[aria-label=Inspector]", "Inspected until"),
        (_, "empty") => Task.CompletedTask,
        ("sessions" or "session/web" or "requests", _) => page.Page.GetByRole(AriaRole.Row).Nth(1).WaitForAsync(),
        ("agents", _) => page.WaitForTextAsync(".card h2", "web"),
        ("alerts", "failing") => page.WaitForTextAsync("li", "web: "),
        ("alerts", "guarded") => page.WaitForTextAsync("li", "certificate"),
        _ => Task.CompletedTask,
    };

    /// <summary>What axe-core finds wrong; nothing where its package is not installed.</summary>
    public static async Task<string> ViolationsAsync(DashboardPage page)
    {
        if (_axe.Value is not { } axe)
        {
            return "";
        }

        await page.Page.EvaluateAsync(axe + "\n;undefined");
        return await page.Page.EvaluateAsync<string>("""
            async () => (await axe.run(document, { resultTypes: ['violations'] })).violations
              .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => `${node.target} ${node.failureSummary}`).join('; ')}`)
              .join('\n')
            """);
    }

    /// <summary>Saves a picture where one is wanted.</summary>
    public static async Task SaveAsync(DashboardPage page, string address, string state, int width, ColorScheme theme)
    {
        if (_folder is null)
        {
            return;
        }

        var name = address.Length == 0 ? "node" : address.Split('/')[0];
        foreach (var other in width == Wide ? [theme] : new[] { ColorScheme.Light, ColorScheme.Dark })
        {
            await page.Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = other });
            await page.Page.ScreenshotAsync(new PageScreenshotOptions
            {
                Path = Path.Combine(_folder, $"{name}-{state}-{width}-{(other == ColorScheme.Dark ? "dark" : "light")}.png"),
                FullPage = true,
            });
        }

        await page.Page.EmulateMediaAsync(new PageEmulateMediaOptions { ColorScheme = theme });
    }

    /// <summary>Requests at a calm pace.</summary>
    private sealed class Traffic(Func<Task>? request) : IAsyncDisposable
    {
        private readonly PeriodicTimer _pace = new(TimeSpan.FromMilliseconds(100));
        private readonly long _began = Stopwatch.GetTimestamp();
        private Task? _running;

        /// <summary>Begins, and returns when it has lasted for as long as pictures want.</summary>
        public async Task BeginAsync()
        {
            if (request is not null)
            {
                while (Stopwatch.GetElapsedTime(_began) < _warmup && await _pace.WaitForNextTickAsync())
                {
                    await request();
                }

                _running = RunAsync(request);
            }
        }

        public async ValueTask DisposeAsync()
        {
            _pace.Dispose();
            if (_running is not null)
            {
                await _running;
            }
        }

        private async Task RunAsync(Func<Task> one)
        {
            while (await _pace.WaitForNextTickAsync())
            {
                await one();
            }
        }
    }
}
