using System.Diagnostics;
using Microsoft.Playwright;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Programs.Tests.Live;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>The dashboard as its users see it, in a real browser.</summary>
public sealed class DashboardPageTests(Chromium browser) : IClassFixture<Chromium>
{
    [Fact]
    public Task A_request_shows_within_a_second_and_a_failed_one_is_red_with_its_reason() => RunAsync(async tunnel =>
    {
        await using var page = await browser.OpenAsync(tunnel.Entry.Admin, "requests");
        await Promptness.AssertWithinAsync(TimeSpan.FromSeconds(1), async number =>
        {
            await tunnel.ExchangeAsync($"/status/20{number}");
            var ended = Stopwatch.GetTimestamp();
            await page.Row($"/status/20{number}").WaitForAsync();
            return ended;
        });
        await tunnel.ExchangeAsync("/status/500");

        // The words for errors may come after the row.
        var failed = page.Row("/status/500").Filter(new LocatorFilterOptions { HasText = "The service answered with an error" });
        await failed.WaitForAsync();
        await page.WaitForRedAsync("[role=row]", "/status/500", ".c-status");
        Assert.False(await page.Row("/status/200").EvaluateAsync<bool>("row => row.classList.contains('bad')"));
        page.AssertClean();
    });

    [Fact]
    public Task Filters_are_in_the_address_and_a_reload_shows_the_same() => RunAsync(async tunnel =>
    {
        await using var page = await browser.OpenAsync(tunnel.Entry.Admin, "requests");
        foreach (var path in new[] { "/status/200", "/status/418", "/status/404?body=x", "/status/503" })
        {
            await tunnel.ExchangeAsync(path);
        }

        await page.Row("/status/503").WaitForAsync();
        await page.Page.SelectOptionAsync("#f-status", "4xx");
        await page.Page.FillAsync("#f-target", "41");
        await page.Row("/status/200").WaitForAsync(Hidden);
        await page.Row("/status/404").WaitForAsync(Hidden);
        await page.Row("/status/418").WaitForAsync();
        await page.WaitForAddressAsync("requests?status=4xx&target=41");
        await page.Page.FillAsync("#f-target", "none has it");
        await page.WaitForTextAsync(".empty", "No request here fits the filter");
        await page.Page.FillAsync("#f-target", "41");
        await page.WaitForAddressAsync("requests?status=4xx&target=41");
        await page.Page.ReloadAsync();
        await page.Row("/status/418").WaitForAsync();
        Assert.Equal(("4xx", "41"), (await page.Page.InputValueAsync("#f-status"), await page.Page.InputValueAsync("#f-target")));
        Assert.Equal(0, await page.Row("/status/200").CountAsync());
        await page.Page.ClickAsync("text=Pause");
        await tunnel.ExchangeAsync("/status/416");
        await page.WaitForTextAsync("#list-note", "1 new, not shown while paused");
        Assert.Equal(0, await page.Row("/status/416").CountAsync());
        await page.Page.ClickAsync("text=Continue");
        await page.Row("/status/416").WaitForAsync();
        page.AssertClean();
    });

    [Fact]
    public Task Sessions_agents_and_the_node_show_what_runs() => RunAsync(async tunnel =>
    {
        await using var page = await browser.OpenAsync(tunnel.Entry.Admin, "sessions");
        await page.Row("web").WaitForAsync();
        await tunnel.ExchangeAsync("/status/500");
        await page.Page.Locator("tr.bad").WaitForAsync();
        var url = $"http://web.localhost:{tunnel.Entry.Http.Port}";
        await page.Page.Locator($"td a[href='{url}'][rel=noreferrer]").WaitForAsync();
        await page.Page.ClickAsync("th[scope=row] a");
        await page.WaitForTextAsync("h1", "Session web");
        Assert.Equal(url, await page.Page.Locator($".urls a[href='{url}']").TextContentAsync());
        await page.Row("/status/500").WaitForAsync();
        await page.WaitForTextAsync("dd", "connected");
        await page.FollowAsync("agents");
        await page.WaitForTextAsync(".card h2", "web");
        await page.Row("127.0.0.1").First.WaitForAsync();
        await page.FollowAsync("agents?filter=other");
        await page.FollowAsync("");
        await page.WaitForTextAsync("section", "The service answered with an error");
        await page.WaitForTextAsync("table", "Slow watchers, paused");
        page.AssertClean();
    });

    [Fact]
    public async Task Who_may_visit_what_was_refused_and_certificates_are_shown()
    {
        using var guarded = new GuardedTunnel();
        await TunnelFixture.RunAsync(
            async tunnel =>
            {
                await using var page = await browser.OpenAsync(tunnel.Entry.Admin, "requests");
                await page.WaitForTextAsync(".empty", "No request yet");
                Assert.Equal(401, (await GuardedTunnel.ExchangeAsync(tunnel, "/status/201", null)).Head.StatusCode);
                Assert.Equal(200, (await GuardedTunnel.ExchangeAsync(tunnel, "/status/200")).Head.StatusCode);
                var refused = page.Row("/status/201").Filter(
                    new LocatorFilterOptions { HasText = "Login required (login-required)" });
                await refused.WaitForAsync();

                // The server did what its settings say: that is not red.
                await page.Page.Locator(".rows .row.warn").Filter(new LocatorFilterOptions { HasText = "/status/201" }).WaitForAsync();
                await page.Page.SelectOptionAsync("#f-status", "refused");
                await page.Row("/status/200").WaitForAsync(Hidden);
                await refused.WaitForAsync();
                await page.Page.Locator("button.target").First.ClickAsync();
                await page.WaitForTextAsync("dialog[open] dd.warn", "Login required (login-required)");
                await page.Page.Keyboard.PressAsync("Escape");

                await page.FollowAsync("agents");
                await page.WaitForTextAsync(".facts div", "Who may visitwho logs in");
                await page.WaitForTextAsync(".facts div", "Refused by rules1");
                await page.WaitForTextAsync(".facts div", "Tiersmall: 1 request/s, burst 20");

                await page.FollowAsync("");
                await page.Page.Locator("tr.warn").Filter(new LocatorFilterOptions { HasText = "shop.localhost" }).WaitForAsync();
                await page.Page.Locator("tr.bad").Filter(new LocatorFilterOptions { HasText = "old.localhost" }).WaitForAsync();
                await page.Row("web.localhost").Filter(new LocatorFilterOptions { HasText = "the folder" }).WaitForAsync();
                await page.WaitForTextAsync("section.reasons tr.bad", "broken.pem");
                await page.WaitForTextAsync(".alerts li", "A certificate cannot be used or obtained since");
                await page.WaitForTextAsync(".alerts li", "The certificate for visitors (old.localhost) ended on");
                page.AssertClean();
            },
            guarded.Setup);
    }

    [Fact]
    public async Task A_time_without_data_is_shaded_and_lines_have_a_gap_there()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin);
        var drawn = await page.Page.EvaluateAsync<string[]>("""
            async () => {
              const { chart } = await import('/dashboard/chart.mjs');
              const made = chart({ title: 'x', format: String, series: [{ name: 'n', class: 's1', get: one => one.n }] });
              const sample = (t, n) => ({ t: t * 1000, seconds: 5, n });
              const draw = samples => {
                made.draw(samples, 0, 100000);
                const rects = [...made.element.querySelectorAll('.gaps rect')];
                const shaded = rects.map(one => `${one.getAttribute('x')}+${one.getAttribute('width')}`);
                const parts = (made.element.querySelector('.line').getAttribute('d') ?? '').split('M').length - 1;
                return `${parts} ${shaded.join(' ')} ${made.element.querySelector('.axis .note').textContent}`;
              };
              const all = Array.from({ length: 20 }, (_, i) => sample(i * 5, i));
              const unknown = all.map(one => ({ ...one, n: one.t === 20000 ? null : 1 }));
              return [draw(all), draw(all.filter((_, i) => i < 4 || i >= 10)), draw([]), draw(unknown)];
            }
            """);
        Assert.Equal(["1  ", "2 120.0+180.0 shaded: no data", "0 0.0+600.0 shaded: no data", "2  "], drawn);
        page.AssertClean();
    }

    [Fact]
    public async Task The_minute_before_a_page_of_sessions_was_opened_is_what_the_server_has_kept()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin);
        var drawn = await page.Page.EvaluateAsync<string[]>("""
            async () => {
              const { State } = await import('/dashboard/state.mjs');
              const takers = {}, stopped = [];
              const live = {
                state: { kind: 'live' }, onState() {},
                subscribe(channel, take) { takers[channel] = take; return () => stopped.push(channel); },
              };
              const state = new State(live);
              state.watchRates();
              const from = Math.ceil(state.ratesFrom), kept = (start, requests) => ({ startMs: start * 1000, seconds: 10, requests });
              state.fillSpark('web');
              state.fillSpark('web');
              const give = data => takers['session.web.history']('all', data, {});
              give({ samples: [kept(from - 200, 10), kept(from - 35, 20), kept(from - 15, 0)] });
              const { spark } = state.rates.get('web');
              const seconds = [from - 195, from - 36, from - 35, from - 26, from - 25, from - 15, from - 5, from];
              const before = seconds.map(second => spark.get(second) ?? '-').join(' '), notYet = stopped.length;
              give(kept(from - 5, 50));
              return [before, String(notYet), `${spark.get(from - 1)} ${spark.get(from) ?? '-'}`, stopped.join()];
            }
            """);
        Assert.Equal(["- - 2 2 - 0 - -", "0", "5 -", "session.web.history"], drawn);
        page.AssertClean();
    }

    [Theory]
    [InlineData("session/absent", "No agent with this name is connected.")]
    [InlineData("session/%3Cb%3E", "This is not the name of a session.")]
    public async Task Nothing_is_known_of_a_name_that_no_agent_has(string address, string words)
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin, address);
        await page.WaitForTextAsync(".note", words);
        await page.Page.WaitForFunctionAsync(
            "() => /^–+$/.test([...document.querySelectorAll('.tile dd')].map(one => one.textContent).join(''))");
        page.AssertClean();
    }

    [Fact]
    public async Task The_minutes_of_many_sessions_are_asked_for_in_turns()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin);
        var drawn = await page.Page.EvaluateAsync<string[]>("""
            async () => {
              const { State } = await import('/dashboard/state.mjs');
              const takers = {}, stopped = [], live = {
                state: { kind: 'live' }, onState() {},
                subscribe(channel, take) { takers[channel] = take; return () => stopped.push(channel); },
              };
              const state = new State(live);
              state.watchRates();
              let now = Date.now();
              Date.now = () => now;
              const ask = () => { for (let i = 0; i < 500; i++) state.fillSpark(`n${i}`); };
              const asked = () => Object.keys(takers).filter(one => /^session.*history$/.test(one)).length;
              const counts = () => `${asked()} ${stopped.length}`;
              const meet = i => takers[`session.n${i}.history`]('all', { startMs: now - 5000, seconds: 10, requests: 1 }, {});
              ask();
              const first = counts();
              for (let i = 0; i < 30; i++) meet(i);
              ask();
              const atOnce = counts();
              now += 1000;
              ask();
              const later = counts();
              now += 60000;
              ask();
              return [first, atOnce, later, counts()];
            }
            """);
        // Forty wait at once; of the places that are free again, three in each second.
        Assert.Equal(["40 0", "40 30", "43 30", "70 30"], drawn);
        page.AssertClean();
    }

    [Fact]
    public async Task It_survives_a_restart_of_the_server_and_says_what_it_does()
    {
        var first = await EntryFixture.StartAsync(null, $"Admin:Listen=127.0.0.1:{FreePort.Next()}");
        var admin = first.Admin;
        await using var page = await browser.OpenAsync(admin, "sessions?sort=p99&order=up");
        await first.DisposeAsync();
        await page.WaitForStateAsync("waiting");
        await page.WaitForTextAsync("#notice", "The server does not answer");
        await using var second = await EntryFixture.StartAsync(null, $"Admin:Listen={admin}");
        await page.WaitForStateAsync("live");
        await page.Page.Locator("#notice").WaitForAsync(Hidden);
        await page.WaitForAddressAsync("sessions?sort=p99&order=up");
        page.ForgetLostConnections();
        page.AssertClean();
    }

    [Fact]
    public async Task A_page_of_an_earlier_version_loads_itself_again_once_and_then_says_why_not()
    {
        await using var entry = await EntryFixture.StartAsync();
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        var script = await client.GetStringAsync(
            new Uri($"http://{entry.Admin}/dashboard/app.mjs"), TestContext.Current.CancellationToken);
        var earlier = script.Replace(
            "document.querySelector('meta[name=build]').content", "'0123456789abcdef'", StringComparison.Ordinal);
        Assert.NotEqual(script, earlier);
        var loads = 0;
        await using var page = await browser.OpenAsync(entry.Admin, "alerts", prepare: page => page.RouteAsync(
            static url => new Uri(url).AbsolutePath == "/dashboard/app.mjs",
            route =>
            {
                loads++;
                return route.FulfillAsync(new RouteFulfillOptions { ContentType = "text/javascript", Body = earlier });
            }));
        await page.WaitForTextAsync("#notice", "The server was upgraded");
        await page.WaitForTextAsync("#notice", "a cache on the way keeps it");
        Assert.Equal(2, loads);
        await page.WaitForAddressAsync("alerts");
        page.AssertClean();
    }

    [Fact]
    public async Task Without_the_token_it_says_nothing_about_the_server()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Admin:Token=s3cret-token");
        await using var page = await browser.OpenAsync(entry.Admin, "", isLive: false);
        await page.WaitForStateAsync("token");
        await page.WaitForTextAsync(".certificates .note", "Waiting for the first reading.");
        Assert.DoesNotContain("No error in this time", await page.Page.InnerTextAsync("main"), StringComparison.Ordinal);
        await page.FollowAsync("requests");
        Assert.False(await page.Page.Locator(".list > .empty").IsVisibleAsync());
        await page.FollowAsync("");
        await page.Page.FillAsync("#token", "s3cret-token");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync(".certificates .note", "every listener is without TLS");
        await page.WaitForTextAsync(".note", "No error in this time");
        page.ForgetLostConnections();
        page.ForgetStatus(401);
        page.AssertClean();
    }

    [Fact]
    public async Task With_a_token_it_asks_and_keeps_it_in_the_tab()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Admin:Token=s3cret-token");
        await using var page = await browser.OpenAsync(entry.Admin, "sessions", isLive: false);
        await page.WaitForStateAsync("token");
        await page.WaitForTextAsync("#login-text", "A token is needed");
        await page.Page.FillAsync("#token", "wrong");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("#login-text", "The token is wrong");
        await page.Page.FillAsync("#token", "s3cret-token");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForStateAsync("live");
        await page.Page.ReloadAsync();
        await page.WaitForStateAsync("live");
        page.ForgetLostConnections();
        page.ForgetStatus(401);
        page.AssertClean();
    }

    [Fact]
    public Task The_keyboard_alone_is_enough() => RunAsync(async tunnel =>
    {
        await using var page = await browser.OpenAsync(tunnel.Entry.Admin);
        await tunnel.ExchangeAsync("/status/500");
        await page.TabToAsync(".skip");
        await page.TabToAsync("nav a[data-path=sessions]");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("h1", "Sessions");
        await page.Row("web").WaitForAsync();
        await page.TabToAsync("thead button");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.Page.Locator("th[aria-sort=ascending]").WaitForAsync();
        await page.WaitForAddressAsync("sessions?sort=session&order=up");
        await page.TabToAsync("th[scope=row] a");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("h1", "Session web");
        await page.Row("/status/500").WaitForAsync();
        await page.TabToAsync("button.target");
        await page.Page.Keyboard.PressAsync("Enter");
        await page.WaitForTextAsync("dialog[open] dd", "The service answered with an error");
        await page.Page.Keyboard.PressAsync("Escape");
        await page.Page.Locator("dialog[open]").WaitForAsync(Hidden);
        await page.TabToAsync(".plot, #theme, .skip");
        page.AssertClean();
    });

    [Theory]
    [InlineData("<img src=x onerror=alert(1)><script>alert(2)</script>", "<img src=x onerror=alert(1)><script>alert(2)</script>")]
    [InlineData("/\u001b[31mred\u0007", "/\\u{1b}[31mred\\u{7}")]
    [InlineData("/a\u00e2\u0080\u00aeb", "/a\\xe2\\x80\\xaeb")]
    [InlineData("/\u00ff\u00fe", "/\\xff\\xfe")]
    [InlineData("", "(none)")]
    public async Task Values_of_strangers_are_shown_as_text(string target, string shown)
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin, "requests");
        // No server of HTTP would forward it: the dashboard shows what the ring has.
        ShortHub.Publish(entry, target);
        await page.WaitForTextAsync("button.target", shown);
        await page.Page.Locator("button.target").First.ClickAsync();
        await page.WaitForTextAsync("dialog[open] bdi", shown);
        Assert.Equal(0, await page.Page.Locator("main img, main script").CountAsync());
        page.AssertClean();
    }

    [Fact]
    public async Task A_very_long_text_is_cut_and_hidden_characters_are_written_out()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var page = await browser.OpenAsync(entry.Admin);
        var text = await page.Page.EvaluateAsync<string>(
            "async value => (await import('/dashboard/format.mjs')).visible(value)", new string('x', 65_536) + "\u202e");
        Assert.Equal(new string('x', 400) + "… (65537 characters)", text);
        text = await page.Page.EvaluateAsync<string>(
            "async () => (await import('/dashboard/format.mjs')).visible('a\\u202eb\\ufeff\\ud800c\\u200fd\\u2066😀é\\udb40\\udc41')");
        Assert.Equal("a\\u{202e}b\\u{feff}\\u{d800}c\\u{200f}d\\u{2066}😀é\\u{e0041}", text);
        Assert.True(await page.Page.EvaluateAsync<bool>("""
            () => {
              try { document.createElement('p').innerHTML = '<b>x</b>'; } catch (error) { return error instanceof TypeError; }
              return false;
            }
            """), "a text can become HTML");
    }

    [Theory]
    [InlineData(1280)]
    [InlineData(400)]
    public async Task The_longest_name_leaves_room_for_the_figures_of_its_session(int width)
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 1, new string('n', 50)));
        await using var page = await browser.OpenAsync(entry.Admin, "sessions", width);
        await page.WaitForTextAsync("tbody th", "nnn");
        var room = await page.Page.EvaluateAsync<int>("""
            () => ['main', 'table'].map(name => document.querySelector(name).getBoundingClientRect().right).reduce((a, b) => a - b)
            """);
        Assert.InRange(room, 0, width);
    }

    /// <summary>With TUNNEL2_PICTURES set to a folder this also saves a picture of each (eng/pictures.sh).</summary>
    [Theory]
    [InlineData("empty")]
    [InlineData("busy")]
    [InlineData("failing")]
    [InlineData("guarded")]
    public async Task Every_page_fits_at_each_width_and_in_each_theme_and_axe_finds_nothing(string state)
    {
        if (state == "empty")
        {
            await using var entry = await EntryFixture.StartAsync();
            await LookAtAllAsync(entry, state, static () => Task.CompletedTask);
        }
        else if (state == "guarded")
        {
            using var guarded = new GuardedTunnel();
            await TunnelFixture.RunAsync(tunnel => LookAtBusyAsync(tunnel, state), guarded.Setup);
        }
        else
        {
            await RunAsync(tunnel => LookAtBusyAsync(tunnel, state));
        }
    }

    /// <summary>With the patience that a browser needs.</summary>
    private static Task RunAsync(Func<TunnelFixture, Task> test) =>
        TunnelFixture.RunAsync(test, new TunnelSetup { Patience = DashboardPictures.Patience });

    private static async Task RequestAsync(TunnelFixture tunnel, string state)
    {
        for (var i = 0; i < 20; i++)
        {
            if (state == "guarded")
            {
                await GuardedTunnel.ExchangeAsync(tunnel, $"/bytes/{(i + 1) * 700}", i % 4 == 0 ? null : GuardedTunnel.Right);
                continue;
            }

            await tunnel.ExchangeAsync(state == "failing" && i % 3 != 0 ? "/status/503" : $"/bytes/{(i + 1) * 700}");
        }
    }

    private async Task LookAtBusyAsync(TunnelFixture tunnel, string state)
    {
        if (state == "failing")
        {
            // The block of a session that is inspected looks different.
            using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
            using var begun = await client.PutAsync(
                new Uri($"http://{tunnel.Entry.Admin}/api/v1/sessions/web/inspection"), null, TestContext.Current.CancellationToken);
            Assert.True(begun.IsSuccessStatusCode);
        }

        await RequestAsync(tunnel, state);
        await using (await DashboardPictures.KeepBusyAsync(() => RequestAsync(tunnel, state)))
        {
            await LookAtAllAsync(tunnel.Entry, state, () => RequestAsync(tunnel, state));
        }
    }

    private async Task LookAtAllAsync(EntryFixture entry, string state, Func<Task> requestAgain)
    {
        foreach (var (width, theme) in DashboardPictures.Looks(state))
        {
            await using var page = await browser.OpenAsync(entry.Admin, width: width, theme: theme);
            foreach (var address in new[] { "", "sessions", "session/web", "agents", "requests", "alerts" })
            {
                if (address == "alerts")
                {
                    // Errors of 40 s ago are no alert any more, and a busy machine needs as long for the pages before.
                    await requestAgain();
                }

                await page.FollowAsync(address);
                await DashboardPictures.ReadyAsync(page, address, state);
                var room = await page.Page.EvaluateAsync<int>("() => document.documentElement.scrollWidth - innerWidth");
                Assert.True(room <= 0, $"{address}: {room} pixels wider than {width}");
                Assert.Equal("", width == DashboardPictures.Wide ? "" : await DashboardPictures.ViolationsAsync(page));
                await DashboardPictures.SaveAsync(page, address, state, width, theme);
            }

            page.AssertClean();
        }
    }

    private static LocatorWaitForOptions Hidden => new() { State = WaitForSelectorState.Hidden };
}
