using Microsoft.Playwright;
using Tunnel2.FunctionalTests.Access;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>A sign-in as a person does it, in a real browser.</summary>
public sealed class SignInPageTests
{
    private const string Fetch = "() => fetch('/api').then(answer => answer.status)";

    [Fact]
    public async Task A_person_signs_in_uses_the_page_and_signs_out()
    {
        SharedChromium.AssertInstalled();
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        using var certificate = TestCertificate.Create();
        await File.WriteAllTextAsync(folder["secret"], "s3cret\n");
        await TunnelFixture.RunAsync(
            ServeAsync,
            async tunnel =>
            {
                using var playwright = await Playwright.CreateAsync();
                await using var browser = await playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions
                {
                    ExecutablePath = "/usr/bin/chromium",
                    Headless = true,
                    Args =
                    [
                        "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                        "--disable-sync", "--host-resolver-rules=MAP web.localhost 127.0.0.1",
                    ],
                });

                // The server's own pages let no script call anything; this test does it in each page.
                await using var context = await browser.NewContextAsync(
                    new BrowserNewContextOptions { IgnoreHTTPSErrors = true, BypassCSP = true });
                var page = await context.NewPageAsync();
                var address = $"https://{TunnelFixture.Host}:{tunnel.Entry.Https.Port}";

                await page.GotoAsync($"{address}/hello?x=1");
                Assert.StartsWith($"{provider.Name}/auth?", page.Url, StringComparison.Ordinal);
                await page.ClickAsync("#agree");
                await page.WaitForURLAsync($"{address}/hello?x=1");
                Assert.Equal("alice@example.com and no cookie", await page.InnerTextAsync("body"));
                Assert.Equal(200, await page.EvaluateAsync<int>(Fetch));
                Assert.Equal("", await page.EvaluateAsync<string>("() => document.cookie"));
                var cookie = Assert.Single(await context.CookiesAsync([address]));
                Assert.Equal(
                    ("__Host-tunnel2", true, true, SameSiteAttribute.Lax), (cookie.Name, cookie.Secure, cookie.HttpOnly, cookie.SameSite));

                await page.GotoAsync($"{address}/.tunnel2/logout");
                Assert.Contains("You are signed out", await page.InnerTextAsync("body"), StringComparison.Ordinal);
                Assert.Equal(401, await page.EvaluateAsync<int>(Fetch));
                await page.ClickAsync("text=Sign in again");
                await page.WaitForURLAsync($"{provider.Name}/auth?**");
                await page.GotoAsync($"{address}/hello");
                Assert.StartsWith($"{provider.Name}/auth?", page.Url, StringComparison.Ordinal);
            },
            new TunnelSetup
            {
                Settings =
                [
                    "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}", $"StateFolder={folder["state"]}",
                    $"Oidc:staff:Authority={provider.Name}", "Oidc:staff:ClientId=tunnel", "Oidc:staff:AllowDomains=example.com",
                    $"Oidc:staff:ClientSecretFile={folder["secret"]}",
                ],
                Agent = static options => options with { Access = new AccessRules { Gate = "staff" } },
            });
    }

    private static async Task ServeAsync(RawConnection service)
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

            var text = $"{head["X-Tunnel2-User"]} and {head["Cookie"] ?? "no cookie"}";
            await service.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {text.Length}\r\n\r\n{text}");
        }
    }
}
