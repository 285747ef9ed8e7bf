using System.Collections.Concurrent;
using System.Diagnostics;
using System.Text;
using System.Text.Json;
using Microsoft.Playwright;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Inspecting;
using Tunnel2.TestUtilities;
using static Tunnel2.Programs.Tests.Browser.InspectorPage;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>The inspector as its users see it, in a real browser: on ProxyEntry's admin listener and at the agent.</summary>
public sealed class InspectorPageTests(Chromium browser) : IClassFixture<Chromium>
{
    private const string Token = "s3cret-token";

    /// <summary>"Shows within a second"; another test may have the processors for one of the tries.</summary>
    private const int Tries = 4;

    [Fact]
    public Task An_administrator_comes_from_the_dashboard_sees_requests_at_once_and_ends_it() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var page = await browser.OpenAsync(tunnel.Entry.Admin, "session/web");
        await page.WaitForTextAsync("section[aria-label=Inspector]", "Nothing is kept now");
        await page.Page.SelectOptionAsync("#inspect-minutes", "5");
        await page.TabToAsync("#inspect-begin");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("section[aria-label=Inspector]", "Inspected until");
        await page.Page.Locator("#inspect-open:focus").WaitForAsync();
        await page.Page.Keyboard.PressAsync("Enter");
        await LiveAsync(page);
        Assert.EndsWith("/inspector/#/web/", await AddressAsync(page), StringComparison.Ordinal);
        await page.WaitForTextAsync("#until", "inspected until");
        var fastest = TimeSpan.MaxValue;
        for (var i = 0; i < Tries; i++)
        {
            await tunnel.ExchangeAsync($"/status/20{i}");
            var ended = Stopwatch.GetTimestamp();
            await Row(page, $"/status/20{i}").WaitForAsync();
            fastest = Stopwatch.GetElapsedTime(ended) is var time && time < fastest ? time : fastest;
        }

        Assert.InRange(fastest, TimeSpan.Zero, TimeSpan.FromSeconds(1));
        await tunnel.ExchangeAsync("/status/500");
        await page.WaitForRedAsync("#rows a", "/status/500", ".status");

        await page.Page.ClickAsync("#dashboard");
        await page.WaitForTextAsync("h1", "Session web");
        await page.WaitForStateAsync("live");
        await page.Page.ClickAsync("#inspect-end");
        await page.WaitForTextAsync("section[aria-label=Inspector]", "Nothing is kept now");
        await page.Page.GotoAsync($"http://{tunnel.Entry.Admin}/inspector/#/web/");
        await page.WaitForTextAsync("#absent", "is not inspected");
        Assert.Equal(0, await page.Page.Locator("#rows a").CountAsync());
        page.AssertClean();
    });

    [Fact]
    public Task It_says_that_the_time_is_over_and_can_begin_again()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            async tunnel =>
            {
                await InspectAsync(tunnel.Entry.Admin);
                await using var page = await OpenAsync(browser, tunnel.Entry.Admin, "/inspector/");
                await LiveAsync(page);
                Assert.EndsWith("/inspector/#/web/", await AddressAsync(page), StringComparison.Ordinal);
                await tunnel.ExchangeAsync("/status/204");
                await Row(page, "/status/204").ClickAsync();
                await page.WaitForTextAsync("#detail h2", "/status/204");
                time.Advance(TimeSpan.FromMinutes(10));
                await page.WaitForTextAsync("#absent", "web is not inspected, or no longer");
                await page.Page.Locator("#detail").WaitForAsync(Hidden);
                Assert.Equal(0, await page.Page.Locator("#rows a").CountAsync());
                await page.Page.ClickAsync("#inspect");
                await LiveAsync(page);
                await tunnel.ExchangeAsync("/status/201");
                await Row(page, "/status/201").WaitForAsync();
                await page.Page.ClickAsync("#end");
                await page.WaitForTextAsync("#absent", "is not inspected");
                page.ForgetStatus(404);
                page.AssertClean();
            },
            new TunnelSetup { EntryTime = time });
    }

    [Fact]
    public async Task It_survives_a_restart_of_the_server_and_a_name_that_is_none_and_says_what_it_does()
    {
        var first = await EntryFixture.StartAsync(null, $"Admin:Listen=127.0.0.1:{FreePort.Next()}");
        var admin = first.Admin;
        await using var page = await OpenAsync(browser, admin, "/inspector/#/%3Cimg%20src=x%20onerror=alert(1)%3E/x/5?q=a");
        await page.WaitForTextAsync("#absent", "<img src=x onerror=alert(1)> is not inspected");
        Assert.Equal(0, await page.Page.Locator("main img").CountAsync());
        await page.Page.ClickAsync("#inspect");
        await page.WaitForTextAsync("#absent .problem", "There is no session of this name.");
        page.ForgetStatus(404);
        await first.DisposeAsync();
        await page.WaitForTextAsync("#state", "no answer; trying again");
        await using var second = await EntryFixture.StartAsync(null, $"Admin:Listen={admin}");
        await page.WaitForTextAsync("#state", "not inspected");
        Assert.Equal("a", await page.Page.InputValueAsync("#q"));
        page.ForgetLostConnections();
        page.AssertClean();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task The_keyboard_alone_is_enough(bool atEntry) => RunAsync(atEntry, async (inspected, open) =>
    {
        await using var page = await open(400, ColorScheme.Light);
        await inspected.Tunnel.ExchangeAsync("/bytes/700");
        await inspected.Tunnel.ExchangeAsync("/trailers?X-Sum=5");
        await Row(page, "/trailers").WaitForAsync();
        await page.TabToAsync("#rows");
        await page.Page.Keyboard.PressAsync("ArrowDown");
        await page.WaitForTextAsync("#detail h2", "/trailers");
        await page.WaitForTextAsync("#panel", "X-Sum");
        await page.TabToAsync("#replay");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("dialog[open] #replayed", "Sent through the tunnel");
        await page.Page.Keyboard.PressAsync("Escape");
        await page.Page.Locator("dialog[open]").WaitForAsync(Hidden);
        await page.TabToAsync("#tab-Response");
        await page.Page.Keyboard.PressAsync("ArrowRight");
        await page.Page.Locator("#tab-Timing:focus").WaitForAsync();
        await page.WaitForTextAsync("#panel", atEntry ? "at ProxyEntry" : "at the agent");
        await page.Page.Keyboard.PressAsync("Escape");
        await page.Page.Locator("#detail").WaitForAsync(Hidden);
        await page.Page.Keyboard.PressAsync("/");
        await page.Page.Keyboard.TypeAsync("bytes/7");
        await Row(page, "/trailers").First.WaitForAsync(Hidden);
        await Row(page, "/bytes/700").WaitForAsync();
        await page.Page.WaitForFunctionAsync("() => location.hash.includes('q=bytes%2F7')");
        await page.TabToAsync("#pause");
        await page.Page.Keyboard.PressAsync("Space");
        await page.WaitForTextAsync("#state", "paused");
        if (atEntry)
        {
            await page.TabToAsync("#end");
            await page.Page.Keyboard.PressAsync("Enter");
            await page.WaitForTextAsync("#absent", "is not inspected");
            page.ForgetStatus(404);
        }

        page.AssertClean();
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task A_request_is_repeated_edited_and_compared_and_a_reload_shows_the_same(bool atEntry) =>
        RunAsync(atEntry, async (inspected, open) =>
        {
            await using var page = await open(1280, ColorScheme.Light);
            await using var visitor = await inspected.Tunnel.ConnectAsync();
            const string Json = "{\"name\":\"Ada\",\"password\":\"s3cr3ttoo\"}";
            await visitor.WriteAsync(
                $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Type: application/json\r\nX-Token: s3cr3t\r\n"
                    + $"Content-Length: {Json.Length}\r\n\r\n{Json}");
            await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
            await Row(page, "/echo").ClickAsync();
            await page.WaitForTextAsync("#panel", "\"password\": \"***\"");
            await page.Page.ClickAsync("#tab-Request");
            await page.WaitForTextAsync("#panel", "Ada");
            Assert.DoesNotContain("s3cr3t", await page.Page.ContentAsync(), StringComparison.Ordinal);
            await page.Page.ReloadAsync();
            await page.Page.Locator("#tab-Request[aria-selected=true]").WaitForAsync();
            await page.WaitForTextAsync("#panel", "Ada");

            await page.Page.ClickAsync("#replay");
            await page.WaitForTextAsync("dialog[open] #replayed", "Answer: 200");
            await page.WaitForTextAsync("dialog[open] .note", "the same");
            await page.Page.Keyboard.PressAsync("Escape");
            await page.Page.ClickAsync("#edit");
            await page.Page.FillAsync("dialog[open] textarea", "{\"name\":\"Grace\"}");
            await page.Page.ClickAsync("#send");
            await page.WaitForTextAsync("dialog[open] .added", "Grace");
            await page.Page.ClickAsync("dialog[open] button.main");
            await page.WaitForTextAsync("#detail", "Replay of #1");
            await page.WaitForTextAsync("#panel", "Grace");

            await page.Page.ClickAsync("#mark");
            await Row(page, "/echo").Last.ClickAsync();
            await page.Page.ClickAsync("#compare");
            await page.WaitForTextAsync("dialog[open] .added", "Ada");
            await page.Page.Keyboard.PressAsync("Escape");
            await page.Page.ClickAsync("#reveal");
            await page.WaitForTextAsync("#panel", "s3cr3ttoo");
            await page.Page.SelectOptionAsync("#copy", "curl");
            await page.WaitForTextAsync("dialog[open] pre", "s3cr3ttoo");
            page.AssertClean();
        });

    /// <summary>A browser has six connections to a server: waits that are left behind would hold up all else.</summary>
    [Fact]
    public Task A_list_that_is_no_longer_wanted_is_not_waited_for() => RunAsync(atEntry: false, async (inspected, open) =>
    {
        await using var page = await open(1280, ColorScheme.Light);
        await inspected.Tunnel.ExchangeAsync("/bytes/10");
        var waits = new ConcurrentDictionary<IRequest, bool>();
        page.Page.RequestFailed += (_, request) => waits.TryRemove(request, out var _);
        page.Page.RequestFinished += (_, request) => waits.TryRemove(request, out var _);
        foreach (var kind in new[] { "http", "", "http", "", "http", "", "http", "" })
        {
            var wait = await page.Page.RunAndWaitForRequestAsync(
                () => page.Page.SelectOptionAsync("#kind", kind), "**/exchanges*wait=20*");
            waits.TryAdd(wait, true);
        }

        await Row(page, "/bytes/10").ClickAsync();
        await page.WaitForTextAsync("#panel pre", "200");
        Assert.InRange(waits.Count, 0, 2);
        page.AssertClean();
    });

    /// <summary>A text field keeps no carriage return, and a service reads no multipart form without them.</summary>
    [Fact]
    public Task An_edited_body_has_the_line_ends_that_it_had() => RunAsync(atEntry: false, async (inspected, open) =>
    {
        await using var page = await open(1280, ColorScheme.Light);
        await using var visitor = await inspected.Tunnel.ConnectAsync();
        const string Form = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nfirst\r\n--b\r\n"
            + "Content-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\none\ntwo\n\r\n--b--\r\n";
        await visitor.WriteAsync(
            $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                + $"Content-Length: {Form.Length}\r\n\r\n{Form}");
        await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        await Row(page, "/echo").ClickAsync();
        await page.Page.ClickAsync("#edit");
        var text = await page.Page.InputValueAsync("dialog[open] textarea");
        await page.Page.FillAsync("dialog[open] textarea", text.Replace("first", "other", StringComparison.Ordinal));
        await page.Page.ClickAsync("#send");
        await page.WaitForTextAsync("dialog[open] .note", $"Bodies: {Form.Length} and {Form.Length} bytes");
        page.AssertClean();
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Values_of_strangers_are_shown_as_text(bool atEntry)
    {
        var body = Encoding.UTF8.GetBytes("<script>alert(1)</script><img src=x onerror=alert(2)>\u001b[31mred\u202egnp.exe\ufe0f");
        var broken = "<b>\u00ff\u00fe</b>";
        return RunAsync(
            atEntry,
            async (inspected, open) =>
            {
                await using var page = await open(1280, ColorScheme.Dark);
                var ran = new ConcurrentQueue<string>();
                page.Page.Dialog += (_, dialog) =>
                {
                    ran.Enqueue(dialog.Message);
                    _ = dialog.DismissAsync();
                };
                var (head, got) = await inspected.Tunnel.ExchangeAsync(
                    "/%3Cb%3E?q='\"&api_key=s3cr3t", fields: "X-Html: <b onclick=alert(3)>bold</b>\r\nAuthorization: Basic s3cr3t\r\n");
                Assert.Equal((200, body.Length), (head.StatusCode, got.Bytes.Length));
                await Row(page, "/%3Cb%3E?q='\"&api_key=***").ClickAsync();
                await page.WaitForTextAsync(
                    "#panel pre", "<script>alert(1)</script><img src=x onerror=alert(2)>U+001B[31mredU+202Egnp.exeU+FE0F");
                await page.WaitForTextAsync("#panel td", "<i>\"</i>");
                await page.Page.ClickAsync("#tab-Request");
                await page.WaitForTextAsync("#panel td", "<b onclick=alert(3)>bold</b>");
                await page.WaitForTextAsync("#panel td.masked", "Basic ***");
                await page.Page.SelectOptionAsync("#copy", "curl");
                await page.WaitForTextAsync("dialog[open] pre", "onclick");
                Assert.DoesNotContain("s3cr3t", await page.Page.ContentAsync(), StringComparison.Ordinal);
                await page.Page.Keyboard.PressAsync("Escape");
                Assert.Equal(0, await page.Page.Locator("main script, main img, main b, main i, dialog b").CountAsync());

                await inspected.Tunnel.ExchangeAsync("/broken");
                await Row(page, "/broken").ClickAsync();
                await page.Page.ClickAsync("#tab-Response");
                await page.WaitForTextAsync("#panel pre", broken);
                await page.WaitForTextAsync("#panel .note", "not UTF-8");
                Assert.Empty(ran);
                page.AssertClean();
            },
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    var answer = head.Target == "/broken" ? Encoding.Latin1.GetBytes(broken) : body;
                    await connection.WriteAsync(
                        $"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-I: <i>\"</i>\r\nContent-Length: {answer.Length}\r\n\r\n");
                    await connection.WriteAsync(answer);
                }
            });
    }

    [Theory]
    [InlineData(1280)]
    [InlineData(400)]
    public Task Values_of_64_KiB_are_shown_as_text_and_fit(int width)
    {
        // Each is longer than a line, has no place to break, and would turn the text around it.
        var target = "/" + new string('x', 16_000);
        var field = string.Concat(Enumerable.Repeat("\u00e2\u0080\u00ae<b>", 6_000));
        var body = string.Concat(Enumerable.Repeat("\u202e<i>\u001b[2J\ufeff", 65_536 / 13));
        return RunAsync(
            atEntry: true,
            async (inspected, open) =>
            {
                await using var page = await open(width, ColorScheme.Light);
                Assert.Equal(200, (await inspected.Tunnel.ExchangeAsync(target, fields: $"X-Long: {field}\r\n")).Head.StatusCode);
                await Row(page, "/xxx").ClickAsync();
                await page.WaitForTextAsync("#panel pre", "U+202E<i>U+001B[2JU+FEFF");
                await FitsAsync(page);
                await page.Page.ClickAsync("#tab-Request");
                await page.WaitForTextAsync("#panel td", "<b>");
                await FitsAsync(page);
                await page.Page.SelectOptionAsync("#copy", "curl");
                await page.WaitForTextAsync("dialog[open] pre", "xxxx");
                await FitsAsync(page);
                await page.Page.Keyboard.PressAsync("Escape");
                Assert.Equal(0, await page.Page.Locator("main b, main i, dialog b, dialog i").CountAsync());
                page.AssertClean();
            },
            InspectedTunnel.Answering(
                $"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n"
                    + Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(body))));

        async Task FitsAsync(DashboardPage page) => Assert.False(await page.Page.EvaluateAsync<bool>(
            "() => document.documentElement.scrollWidth > innerWidth || document.querySelector('h2').offsetHeight > 160"));
    }

    [Fact]
    public Task With_a_token_it_asks_keeps_it_in_the_tab_as_the_dashboard_does_and_gives_files() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await InspectAsync(tunnel.Entry.Admin, Token);
            await tunnel.ExchangeAsync("/bytes/10");
            await using var page = await OpenAsync(browser, tunnel.Entry.Admin, "/inspector/#/web/");
            await page.WaitForTextAsync("dialog[open]", "The admin token of ProxyEntry is needed");
            await page.Page.FillAsync("dialog[open] input", "wrong");
            await page.Page.Keyboard.PressAsync("Enter");
            await page.WaitForTextAsync("dialog[open] .problem", "a bearer token is needed");
            await page.Page.FillAsync("dialog[open] input", Token);
            await page.Page.Keyboard.PressAsync("Enter");
            await LiveAsync(page);
            await page.Page.ReloadAsync();
            await LiveAsync(page);
            await Row(page, "/bytes/10").ClickAsync();
            foreach (var selector in new[] { "#har", "#detail a[download]" })
            {
                var file = await page.Page.RunAndWaitForDownloadAsync(() => page.Page.ClickAsync(selector));
                using var har = JsonDocument.Parse(await File.ReadAllTextAsync(await file.PathAsync()));
                Assert.EndsWith(".har", file.SuggestedFilename, StringComparison.Ordinal);
                Assert.Single(har.RootElement.GetProperty("log").GetProperty("entries").EnumerateArray());
            }

            Assert.DoesNotContain(Token, page.Page.Url + await page.Page.ContentAsync(), StringComparison.Ordinal);
            await page.Page.ClickAsync("#dashboard");
            await page.WaitForStateAsync("live");
            page.ForgetStatus(401);
            page.AssertClean();
        },
        new TunnelSetup { Settings = [$"Admin:Token={Token}"] });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task A_har_file_is_given_without_a_token(bool atEntry) => RunAsync(atEntry, async (inspected, open) =>
    {
        await inspected.Tunnel.ExchangeAsync("/bytes/10");
        await using var page = await open(1280, ColorScheme.Light);
        await Row(page, "/bytes/10").WaitForAsync();
        var file = await page.Page.RunAndWaitForDownloadAsync(() => page.Page.ClickAsync("#har"));
        using var har = JsonDocument.Parse(await File.ReadAllTextAsync(await file.PathAsync()));
        Assert.Equal("web.har", file.SuggestedFilename);
        Assert.Single(har.RootElement.GetProperty("log").GetProperty("entries").EnumerateArray());
        page.AssertClean();
    });

    [Fact]
    public Task A_page_of_an_earlier_version_loads_itself_again_but_not_while_a_request_is_edited() =>
        RunAsync(atEntry: true, async (inspected, open) =>
        {
            await using var page = await open(1280, ColorScheme.Light);
            await inspected.Tunnel.ExchangeAsync("/bytes/10");
            await Row(page, "/bytes/10").ClickAsync();
            await page.Page.ClickAsync("#edit");
            await page.Page.FillAsync("dialog[open] textarea", "edited");
            await page.Page.RouteAsync(
                static url => url.Contains("/exchanges?", StringComparison.Ordinal),
                async route =>
                {
                    var text = await (await route.FetchAsync()).TextAsync();
                    using var json = JsonDocument.Parse(text);
                    var build = json.RootElement.GetProperty("build").GetString();
                    await route.FulfillAsync(new RouteFulfillOptions
                    {
                        ContentType = "application/json",
                        Body = text.Replace($"\"build\":\"{build}\"", "\"build\":\"later\"", StringComparison.Ordinal),
                    });
                });

            // Where a request of the page waits already, its answer is not changed, and the next one is.
            await inspected.Tunnel.ExchangeAsync("/bytes/11");
            await page.Page.Locator("#rows a:has-text('/bytes/11'), #state.bad").First.WaitForAsync();
            await inspected.Tunnel.ExchangeAsync("/bytes/12");
            await page.WaitForTextAsync("#state", "the program was upgraded");
            Assert.Equal("edited", await page.Page.InputValueAsync("dialog[open] textarea"));
            await page.Page.UnrouteAllAsync();
            await page.Page.Keyboard.PressAsync("Escape");
            await page.Page.Locator("dialog[open]").WaitForAsync(Hidden);
            await LiveAsync(page);
            await Row(page, "/bytes/12").WaitForAsync();
            page.AssertClean();
        });

    /// <summary>With TUNNEL2_PICTURES set to a folder this also saves pictures (eng/pictures.sh).</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Every_part_fits_at_each_width_and_in_each_theme_and_axe_finds_nothing(bool atEntry) =>
        RunAsync(atEntry, async (inspected, open) =>
        {
            await FillAsync(inspected.Tunnel);
            foreach (var (width, theme) in DashboardPictures.Looks("inspector"))
            {
                await using var page = await open(width, theme);
                await Row(page, "/echo").Last.WaitForAsync();
                await LookAsync(page, theme, atEntry ? "list" : null);
                await Row(page, "/echo").Last.ClickAsync();
                await page.WaitForTextAsync("#panel", "Ada");
                await LookAsync(page, theme, atEntry ? "exchange" : null);
                foreach (var tab in new[] { "Request", "Timing" })
                {
                    await page.Page.ClickAsync($"#tab-{tab}");
                    await page.Page.Locator($"#tab-{tab}[aria-selected=true]").WaitForAsync();
                    await LookAsync(page, theme);
                }

                await page.Page.ClickAsync("#edit");
                await page.Page.Locator("#send").WaitForAsync();
                await LookAsync(page, theme);
                await page.Page.FillAsync("dialog[open] textarea", "{\"name\":\"Grace\"}");
                await page.Page.ClickAsync("#send");
                await page.Page.Locator("#replayed").WaitForAsync();
                await LookAsync(page, theme, atEntry ? "replay" : null);
                await page.Page.Keyboard.PressAsync("Escape");
                await page.Page.SelectOptionAsync("#copy", "curl");
                await page.WaitForTextAsync("dialog[open] pre", "curl");
                await LookAsync(page, theme);
                page.AssertClean();
            }
        });

    private static async Task FillAsync(TunnelFixture tunnel)
    {
        string[] paths = ["/bytes/1200", "/status/404?body=nothing", "/trailers?X-Sum=5", "/status/500", "/bytes/40000?page=2&token=abc"];
        foreach (var path in paths)
        {
            await tunnel.ExchangeAsync(path, fields: "Accept: */*\r\nUser-Agent: curl/8.14\r\nCookie: session=0123456789\r\n");
        }

        await using var visitor = await tunnel.ConnectAsync();
        const string Json = "{\"name\":\"Ada Lovelace\",\"password\":\"analytical\",\"roles\":[\"admin\",\"author\"],\"since\":1843}";
        await visitor.WriteAsync(
            $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Type: application/json\r\nAuthorization: Bearer 0123456789\r\n"
                + $"User-Agent: curl/8.14\r\nContent-Length: {Json.Length}\r\n\r\n{Json}");
        await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
    }

    /// <summary>Runs a test on a tunnel that is inspected at both ends, with pages of one of them.</summary>
    private Task RunAsync(
        bool atEntry,
        Func<InspectedTunnel, Func<int, ColorScheme, Task<DashboardPage>>, Task> test,
        Func<RawConnection, Task>? backend = null)
    {
        return backend is null ? InspectedTunnel.RunAsync(BeginAsync) : InspectedTunnel.RunAsync(backend, BeginAsync);

        async Task BeginAsync(InspectedTunnel inspected)
        {
            if (atEntry)
            {
                await InspectAsync(inspected.Tunnel.Entry.Admin);
            }

            await test(inspected, async (width, theme) =>
            {
                var page = await OpenAsync(
                    browser, atEntry ? inspected.Tunnel.Entry.Admin : inspected.EndPoint, atEntry ? "/inspector/#/web/" : "/", width,
                    theme);
                await LiveAsync(page);
                return page;
            });
        }
    }

    private static LocatorWaitForOptions Hidden => new() { State = WaitForSelectorState.Hidden };
}
