using System.Net;
using System.Text;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>Tunnels whose visitors sign in at an OpenID Connect provider, from the first page to the end of the session.</summary>
[Trait("Engine", "each")]
public sealed class SignInTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    public static TheoryData<string> Kinds => ["HTTP/1.1 over TLS", "HTTP/2 over TLS"];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Who_signs_in_gets_to_the_page_and_the_service_learns_the_user_and_never_the_session(string kind)
    {
        await using var provider = new TestProvider();
        var heads = new List<RawHttpHead>();
        await RunAsync(kind, provider, [], heads.Add, async browser =>
        {
            using var first = await browser.OpenAsync("/a?b=c");
            Assert.Equal((302, "/.tunnel2/login?to=%2Fa%3Fb%3Dc"), ((int)first.StatusCode, first.Headers.Location!.OriginalString));
            using var login = await browser.OpenAsync(first.Headers.Location!.OriginalString);
            Assert.StartsWith($"{provider.Name}/auth?", login.Headers.Location!.AbsoluteUri, StringComparison.Ordinal);
            Assert.All(browser.Cookies.Keys, static name => Assert.StartsWith("__Host-tunnel2-", name, StringComparison.Ordinal));
            using var back = await browser.OpenAsync(provider.Agree(login.Headers.Location));
            Assert.Equal((302, "/a?b=c"), ((int)back.StatusCode, back.Headers.Location!.OriginalString));
            Assert.Equal("no-store", back.Headers.CacheControl!.ToString());
            Assert.Contains("Path=/; Secure; HttpOnly; SameSite=Lax", string.Join('\n', back.Headers.GetValues("Set-Cookie")));
            Assert.Equal(["__Host-tunnel2"], browser.Cookies.Keys);
            browser.Cookies["mine"] = "1";
            for (var i = 0; i < 3; i++)
            {
                using var page = await browser.OpenAsync("/a?b=c");
                Assert.Equal("ok", await page.Content.ReadAsStringAsync());
            }
        });
        Assert.Equal(3, heads.Count);
        Assert.All(heads, static head =>
        {
            Assert.Equal(["alice@example.com"], head.All("X-Tunnel2-User"));
            Assert.Equal(["mine=1"], head.All("Cookie"));
        });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_session_ends_with_the_sign_out_for_its_copies_too(string kind)
    {
        await using var provider = new TestProvider();
        await RunAsync(kind, provider, [], static _ => { }, async browser =>
        {
            await browser.SignInAsync(provider);
            var copy = browser.Cookies["__Host-tunnel2"];
            foreach (var field in new[]
            {
                ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
                ("Origin", "https://other.localhost"), ("Origin", "null"),
            })
            {
                using var other = await browser.OpenAsync("/.tunnel2/logout", field);
                Assert.Equal(HttpStatusCode.Forbidden, other.StatusCode);
            }

            using var still = await browser.OpenAsync("/");
            Assert.Equal(HttpStatusCode.OK, still.StatusCode);
            using var end = await browser.OpenAsync("/.tunnel2/logout", ("Sec-Fetch-Site", "same-origin"));
            Assert.Equal(HttpStatusCode.OK, end.StatusCode);
            Assert.Empty(browser.Cookies);
            browser.Cookies["__Host-tunnel2"] = copy;
            using var replayed = await browser.OpenAsync("/");
            Assert.Equal(HttpStatusCode.Found, replayed.StatusCode);
        });
    }

    [Fact]
    public async Task Sessions_that_are_forged_or_of_another_tunnel_open_nothing()
    {
        await using var provider = new TestProvider();
        await RunAsync(Kinds.First().Data, provider, [], static _ => { }, async browser =>
        {
            await browser.SignInAsync(provider);
            var right = browser.Cookies["__Host-tunnel2"];
            foreach (var forged in new[] { right[..^1], right + "A", "A" + right[1..], "x", "eyJhIjoxfQ" })
            {
                browser.Cookies["__Host-tunnel2"] = forged;
                using var page = await browser.OpenAsync("/");
                Assert.Equal(HttpStatusCode.Found, page.StatusCode);
            }
        });
    }

    [Fact]
    public async Task A_callback_that_was_not_begun_here_or_comes_twice_signs_no_one_in()
    {
        await using var provider = new TestProvider();
        await RunAsync(Kinds.First().Data, provider, [], static _ => { }, async browser =>
        {
            using var login = await browser.OpenAsync("/.tunnel2/login?to=%2F");
            var callback = provider.Agree(login.Headers.Location!);
            var begun = browser.Cookies.ToArray();

            // The link of an attacker who signed in, opened by a victim: the victim's browser has not begun it.
            browser.Cookies.Clear();
            await ExpectAsync("sign-in-failed", callback);
            await ExpectAsync("sign-in-failed", "/.tunnel2/callback");
            await ExpectAsync("sign-in-failed", "/.tunnel2/callback?code=a&state=b");
            await ExpectAsync("sign-in-failed", "/.tunnel2/callback?error=access_denied&state=b");
            Assert.Equal(0, provider.Redeemed);
            foreach (var (name, value) in begun)
            {
                browser.Cookies[name] = value;
            }

            using var back = await browser.OpenAsync(callback);
            Assert.Equal(HttpStatusCode.Found, back.StatusCode);
            await ExpectAsync("sign-in-failed", callback);
            Assert.Equal(1, provider.Redeemed);

            async Task ExpectAsync(string code, string target)
            {
                using var answer = await browser.OpenAsync(target);
                Assert.Equal(code, Assert.Single(answer.Headers.GetValues("Tunnel2-Error")));
                Assert.False(browser.Cookies.ContainsKey("__Host-tunnel2") && target != callback);
            }
        });
    }

    [Fact]
    public async Task A_sign_in_that_was_begun_at_one_tunnel_ends_at_no_other()
    {
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        using var gates = await GatesAsync(provider, folder, "state");

        // The tunnel of an attacker can read what its visitors' browsers bring from the provider, and has the cookies of its own sign-in.
        var (login, _) = await VisitAsync("evil", "/.tunnel2/login?to=%2F", "");
        var cookies = string.Join("; ", Values(login!, "Set-Cookie").Select(static line => line.Split(';')[0]));
        var callback = provider.Agree(new Uri(Values(login!, "Location").Single()));
        var (answer, error) = await VisitAsync("payroll", callback, cookies);
        Assert.Null(answer);
        Assert.Equal(ProxyError.SignInFailed, error);
        Assert.Equal(0, provider.Redeemed);

        (answer, _) = await VisitAsync("evil", callback, cookies);
        Assert.Contains(Values(answer!, "Set-Cookie"), static line => line.StartsWith("__Host-tunnel2=", StringComparison.Ordinal));

        // No other tunnel of the domain can set them.
        Assert.All(Values(login!, "Set-Cookie"), static line =>
        {
            Assert.StartsWith("__Host-tunnel2-", line, StringComparison.Ordinal);
            Assert.Contains("path=/;", line, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("domain=", line, StringComparison.OrdinalIgnoreCase);
        });

        Task<(ErrorResponse? Answer, ProxyError Error)> VisitAsync(string tunnel, string target, string sent) => gates.ServeAsync(
            new SignInPlace("staff", tunnel), new SignInVisit("GET", tunnel + ".localhost", target, sent, IsCrossSite: false, default));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_sign_in_ends_at_each_node_with_the_secret_of_the_cluster_and_its_session_counts_at_all(bool sharesSecret)
    {
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        using var first = await GatesAsync(provider, folder, "one", "secret of the cluster, long enough");
        using var second = await GatesAsync(
            provider, folder, "two", sharesSecret ? "secret of the cluster, long enough" : "secret of another, just as long as it");
        var (login, _) = await VisitAsync(first, "/.tunnel2/login?to=%2F", "");
        var callback = provider.Agree(new Uri(Values(login!, "Location").Single()));
        var (answer, error) = await VisitAsync(second, callback, CookiesOf(login!));
        if (!sharesSecret)
        {
            Assert.Equal((null, ProxyError.SignInFailed), (answer, error));
            return;
        }

        var session = Values(answer!, "Set-Cookie").Single(static line => line.StartsWith("__Host-tunnel2=", StringComparison.Ordinal));
        var value = session.Split(';')[0].Split('=')[1];
        var pending = new PendingSession(value, LoginKey.Of(Encoding.ASCII.GetBytes(value)), default);
        foreach (var node in new[] { first, second })
        {
            var verdict = await node.OpenAsync(new SignInPlace("staff", "web"), pending, CancellationToken.None);
            Assert.Equal("alice@example.com"u8.ToArray(), verdict.User);
            Assert.Null((await node.OpenAsync(new SignInPlace("staff", "other"), pending, CancellationToken.None)).User);
        }
    }

    [Theory]
    [InlineData("https://evil.example/")]
    [InlineData("//evil.example")]
    [InlineData("/\\evil.example")]
    [InlineData("/.tunnel2/logout")]
    public async Task A_sign_in_leads_to_no_other_place(string wanted)
    {
        await using var provider = new TestProvider();
        await RunAsync(Kinds.First().Data, provider, [], static _ => { }, async browser =>
        {
            using var login = await browser.OpenAsync("/.tunnel2/login?to=" + Uri.EscapeDataString(wanted));
            using var back = await browser.OpenAsync(provider.Agree(login.Headers.Location!));
            Assert.Equal("/", back.Headers.Location!.OriginalString);
        });
    }

    [Theory]
    [InlineData("email", "mallory@example.org", false)]
    [InlineData("email", "alice@sub.example.com", false)]
    [InlineData("email", "bob@friends.example", true)]
    [InlineData("email", "bob@FRIENDS.example", true)]
    [InlineData("email", "a@friends.example@evil.example", false)]
    [InlineData("email", "a@evil.example@friends.example", false)]
    [InlineData("email", "a@evil.example,bob@friends.example", false)]
    [InlineData("email", "<a@evil.example>bob@friends.example", false)]
    [InlineData("email", "\"a@evil.example\"@friends.example", false)]
    [InlineData("email", "a;b@friends.example", false)]
    [InlineData("email", "o'neil+x/y=z@friends.example", true)]
    [InlineData("email", "alice@example.com\r\nX-Tunnel2-User: root", false)]
    [InlineData("email_verified", "false", false)]
    [InlineData("email_verified", "", false)]
    [InlineData("nonce", "other", false)]
    [InlineData("aud", "other", false)]
    [InlineData("iss", "https://other.example", false)]
    [InlineData("groups", "ops", true)]
    public async Task Only_the_users_of_the_lists_get_in(string claim, string value, bool enters)
    {
        await using var provider = new TestProvider();
        if (claim == "groups")
        {
            provider.Claims["email"] = "carol@example.org";
        }

        provider.Claims[claim] = value;
        string[] lists = ["Oidc:staff:AllowDomains=friends.example", "Oidc:staff:AllowGroups=ops,dev"];
        await RunAsync(Kinds.First().Data, provider, lists, static _ => { }, async browser =>
        {
            using var login = await browser.OpenAsync("/.tunnel2/login");
            using var back = await browser.OpenAsync(provider.Agree(login.Headers.Location!));
            Assert.Equal(enters ? HttpStatusCode.Found : HttpStatusCode.Forbidden, back.StatusCode);
            Assert.Equal(enters, browser.Cookies.ContainsKey("__Host-tunnel2"));
        });
    }

    [Theory]
    [InlineData("exp", -3600, true)]
    [InlineData("nbf", 3600, true)]
    [InlineData("aud", 0, false)]
    public async Task A_clock_that_may_be_wrong_is_said_to_the_operator(string claim, int seconds, bool isNamed)
    {
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        using var lines = new LogLines();
        using var loggers = LoggerFactory.Create(builder => builder.AddProvider(lines));
        using var gates = await GatesAsync(provider, folder, "one", logger: loggers.CreateLogger<OidcSignIn>());
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        provider.Claims["exp"] = now + 7200;
        provider.Claims[claim] = now + seconds;
        var (login, _) = await VisitAsync(gates, "/.tunnel2/login?to=%2F", "");
        var callback = provider.Agree(new Uri(Values(login!, "Location").Single()));
        Assert.Equal((null, ProxyError.SignInFailed), await VisitAsync(gates, callback, CookiesOf(login!)));

        var line = Assert.Single(lines.All, static line => line.EventId == 2082).Text;
        Assert.Equal(isNamed, line.Contains("the clock of this machine says 2", StringComparison.Ordinal));
    }

    [Fact]
    public async Task What_is_no_page_is_refused_and_not_sent_elsewhere()
    {
        await using var provider = new TestProvider();
        await RunAsync(Kinds.First().Data, provider, [], static _ => { }, async browser =>
        {
            using var call = await browser.OpenAsync("/api", ("Sec-Fetch-Mode", "cors"));
            Assert.Equal(
                (HttpStatusCode.Unauthorized, "sign-in-required"),
                (call.StatusCode, Assert.Single(call.Headers.GetValues("Tunnel2-Error"))));
            using var unknown = await browser.OpenAsync("/.tunnel2/other");
            Assert.Equal(HttpStatusCode.NotFound, unknown.StatusCode);
        });
    }

    [Fact]
    public async Task A_provider_that_is_away_is_said_so()
    {
        var provider = new TestProvider();
        await provider.DisposeAsync();
        await RunAsync(Kinds.First().Data, provider, [], static _ => { }, async browser =>
        {
            using var login = await browser.OpenAsync("/.tunnel2/login");
            Assert.Equal(
                (HttpStatusCode.ServiceUnavailable, "sign-in-unavailable"),
                (login.StatusCode, Assert.Single(login.Headers.GetValues("Tunnel2-Error"))));
        });
    }

    [Fact]
    public async Task A_gate_that_the_server_does_not_have_is_refused_with_the_reason()
    {
        await using var entry = await EntryFixture.StartAsync(null, []);
        await using var agent = AgentFixture.Start(With(AgentFixture.Options(entry.Uplink.Port, 1)));
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(RejectionReason.AccessUnsupported, end.Rejection!.Reason);
        Assert.Contains("no gate staff", end.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/.tunnel2/logout", false, 200, "Sign in again", "/.tunnel2/login?to=%2F")]
    [InlineData("/.tunnel2/logout", true, 403, "You are not signed out", "/.tunnel2/logout")]
    [InlineData("/.tunnel2/other", false, 404, "There is no such page here", "/")]
    public async Task The_pages_of_a_gate_lead_on(string target, bool isCrossSite, int status, string words, string link)
    {
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        using var gates = await GatesAsync(provider, folder, "state");
        var (answer, error) = await gates.ServeAsync(
            new SignInPlace("staff", "web"), new SignInVisit("GET", "web.localhost", target, "", isCrossSite, default));
        Assert.Equal((status, default), (answer!.Status, error));
        Assert.Equal(["text/html; charset=utf-8"], Values(answer, "Content-Type"));
        Assert.Single(Values(answer, "Content-Security-Policy"));
        Assert.Equal(status == 200, Values(answer, "Set-Cookie").Any());
        var page = Encoding.UTF8.GetString(answer.Body.Span);
        Assert.Contains(words, page, StringComparison.Ordinal);
        Assert.Contains($"<a href=\"{link}\">", page, StringComparison.Ordinal);
    }

    private static Task<(ErrorResponse? Answer, ProxyError Error)> VisitAsync(OidcSignIn node, string target, string sent) =>
        node.ServeAsync(
            new SignInPlace("staff", "web"), new SignInVisit("GET", "web.localhost", target, sent, IsCrossSite: false, default));

    private static string CookiesOf(ErrorResponse response) =>
        string.Join("; ", Values(response, "Set-Cookie").Select(static line => line.Split(';')[0]));

    private static IEnumerable<string> Values(ErrorResponse response, string name) =>
        response.Headers.Where(header => header.Key == name).Select(static header => header.Value);

    private static async Task<OidcSignIn> GatesAsync(
        TestProvider provider, TemporaryFolder folder, string node, string? common = null, ILogger<OidcSignIn>? logger = null)
    {
        await File.WriteAllTextAsync(folder["secret"], "s3cret\n");
        var settings = new Dictionary<string, string?>
        {
            ["Tunnel2:StateFolder"] = folder[node],
            ["Tunnel2:Oidc:staff:Authority"] = provider.Name,
            ["Tunnel2:Oidc:staff:ClientId"] = "tunnel",
            ["Tunnel2:Oidc:staff:ClientSecretFile"] = folder["secret"],
            ["Tunnel2:Oidc:staff:AllowEmails"] = "alice@example.com",
        };
        if (common is not null)
        {
            await File.WriteAllTextAsync(folder[node + ".secret"], common);
            settings["Tunnel2:Cluster:Database"] = "Host=127.0.0.1";
            settings["Tunnel2:Cluster:Secret"] = folder[node + ".secret"];
        }

        var loaded = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(settings).Build());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        return new OidcSignIn(loaded.Settings, TimeProvider.System, new ContainedFaults(), logger ?? NullLogger<OidcSignIn>.Instance);
    }

    private static AgentOptions With(AgentOptions options) => options with { Access = new AccessRules { Gate = "staff" } };

    private static async Task RunAsync(
        string kind, TestProvider provider, string[] settings, Action<RawHttpHead> heard, Func<Browser, Task> test)
    {
        using var folder = new TemporaryFolder();
        var secret = folder["secret"];
        await File.WriteAllTextAsync(secret, "s3cret\n");
        await FrontVisitor.RunAsync(
            kind,
            With,
            [
                $"StateFolder={folder["state"]}", $"Oidc:staff:Authority={provider.Name}", "Oidc:staff:ClientId=tunnel",
                $"Oidc:staff:ClientSecretFile={secret}", "Oidc:staff:AllowEmails=alice@example.com", .. settings,
            ],
            service => ServeAsync(service, heard),
            visitor => test(new Browser(visitor)));
    }

    private static async Task ServeAsync(RawConnection service, Action<RawHttpHead> heard)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await service.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            heard(head);
            await service.WriteAsync(Ok);
        }
    }

    /// <summary>A browser's cookies, as far as these tests need them.</summary>
    private sealed class Browser(FrontVisitor visitor)
    {
        public Dictionary<string, string> Cookies { get; } = [];

        public async Task<HttpResponseMessage> OpenAsync(string target, params (string Name, string Value)[] fields)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, target)
            {
                Version = visitor.Version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            if (fields.Length == 0)
            {
                request.Headers.Add("Sec-Fetch-Mode", "navigate");
            }

            foreach (var (name, value) in fields)
            {
                request.Headers.Add(name, value);
            }

            if (Cookies.Count > 0)
            {
                request.Headers.Add("Cookie", string.Join("; ", Cookies.Select(static cookie => $"{cookie.Key}={cookie.Value}")));
            }

            var answer = await visitor.Client.SendAsync(request);
            foreach (var line in answer.Headers.TryGetValues("Set-Cookie", out var lines) ? lines : [])
            {
                var pair = line.Split(';')[0].Split('=', 2);
                Cookies.Remove(pair[0]);
                if (pair[1].Length > 0)
                {
                    Cookies[pair[0]] = pair[1];
                }
            }

            return answer;
        }

        public async Task SignInAsync(TestProvider provider)
        {
            using var login = await OpenAsync("/.tunnel2/login");
            using var back = await OpenAsync(provider.Agree(login.Headers.Location!));
            Assert.Equal(HttpStatusCode.Found, back.StatusCode);
        }
    }
}
