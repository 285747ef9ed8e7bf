using System.Net;
using Microsoft.Playwright;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>
/// The dashboard in a browser. A test that passed has to end with <see cref="AssertClean"/>: no error in the console, no request elsewhere.
/// </summary>
internal sealed class DashboardPage : IAsyncDisposable
{
    private readonly IBrowserContext _context;
    private readonly IPEndPoint _admin;
    private readonly List<string> _problems = [];

    public DashboardPage(IBrowserContext context, IPage page, IPEndPoint admin)
    {
        (_context, Page, _admin) = (context, page, admin);
        page.Console += (_, message) => Note(message.Type == "error" ? $"console: {message.Text}" : null);
        page.PageError += (_, text) => Note($"exception: {text}");
        page.Request += (_, request) => Note(IsOwn(request.Url) ? null : $"request: {request.Url}");
        page.WebSocket += (_, socket) => Note(new Uri(socket.Url).Authority == admin.ToString() ? null : $"WebSocket: {socket.Url}");
    }

    public IPage Page { get; }

    /// <summary>Loads a page of the dashboard and waits until it is connected.</summary>
    public async Task GoAsync(string address, bool isLive = true)
    {
        await Page.GotoAsync($"http://{_admin}/#/{address}");
        if (isLive)
        {
            await WaitForStateAsync("live");
        }
    }

    /// <summary>Follows a link's address without loading the page again.</summary>
    public async Task FollowAsync(string address)
    {
        await Page.EvaluateAsync("address => { location.hash = `#/${address}`; }", address);
        await Page.WaitForFunctionAsync("address => location.hash === `#/${address}` && document.querySelector('h1')", address);
    }

    /// <summary>Waits until the page's own address has a text after <c>#/</c>. Playwright hears of a change within a page later.</summary>
    /// <exception cref="TimeoutException">It has another one, which the message says.</exception>
    public async Task WaitForAddressAsync(string address)
    {
        try
        {
            await Page.WaitForFunctionAsync("address => location.hash === `#/${address}`", address);
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException(
                $"The address has '{await Page.EvaluateAsync<string>("() => location.hash")}', not '#/{address}'.", exception);
        }
    }

    /// <summary>Waits for a state of the connection: <c>live</c>, <c>waiting</c>, <c>token</c>.</summary>
    public Task WaitForStateAsync(string state) => Page.Locator($"html[data-live={state}]").WaitForAsync(Attached);

    /// <summary>A row of a table or of the list that has a text and is shown.</summary>
    public ILocator Row(string text) => Page.GetByRole(AriaRole.Row).Filter(new LocatorFilterOptions { HasText = text });

    /// <summary>
    /// Waits until a cell of a row is red. A list that is drawn anew takes its rows out of the page, where they have no colour: so row and
    /// colour are looked for in one step.
    /// </summary>
    public Task WaitForRedAsync(string rows, string text, string cell) => Page.WaitForFunctionAsync(
        """
        ([rows, text, cell]) => {
          const row = [...document.querySelectorAll(rows)].find(one => one.textContent.includes(text));
          const color = row && getComputedStyle(row.querySelector(cell)).color.match(/[\d.]+/g);
          if (!color) return false;
          const [r, g, b] = color.map(Number);
          return r > g + 60 && r > b + 60;
        }
        """,
        new[] { rows, text, cell });

    /// <summary>Waits until some element has a text.</summary>
    public Task WaitForTextAsync(string selector, string text) =>
        Page.Locator(selector).Filter(new LocatorFilterOptions { HasText = text }).First.WaitForAsync();

    /// <summary>Presses Tab until the focus is on an element that a selector finds.</summary>
    public async Task TabToAsync(string selector)
    {
        for (var i = 0; i < 60; i++)
        {
            await Page.Keyboard.PressAsync("Tab");
            if (await Page.EvaluateAsync<bool>("selector => document.activeElement.matches(selector)", selector))
            {
                return;
            }
        }

        Assert.Fail($"No number of Tab leads to {selector}");
    }

    /// <summary>Forgets what the browser reported about a server that was away.</summary>
    public void ForgetLostConnections()
    {
        lock (_problems)
        {
            _problems.RemoveAll(static problem => problem.Contains("WebSocket connection to", StringComparison.Ordinal)
                || problem.Contains("net::ERR_", StringComparison.Ordinal));
        }
    }

    /// <summary>Forgets that the browser reported an answer's status.</summary>
    public void ForgetStatus(int status)
    {
        lock (_problems)
        {
            _problems.RemoveAll(problem => problem.Contains($"{status}", StringComparison.Ordinal));
        }
    }

    /// <summary>There was no error in the console, no exception, and no request to another server.</summary>
    public void AssertClean()
    {
        lock (_problems)
        {
            Assert.Equal([], _problems);
        }
    }

    public ValueTask DisposeAsync() => _context.DisposeAsync();

    private static LocatorWaitForOptions Attached => new() { State = WaitForSelectorState.Attached };

    /// <summary>Whether a URL is of the page's own server, or of something that the page itself has made.</summary>
    private bool IsOwn(string url) =>
        url.StartsWith($"blob:http://{_admin}/", StringComparison.Ordinal) || new Uri(url).Authority == _admin.ToString();

    private void Note(string? problem)
    {
        if (problem is not null)
        {
            lock (_problems)
            {
                _problems.Add(problem);
            }
        }
    }
}
