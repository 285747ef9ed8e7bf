using System.Text;
using Tunnel2.FunctionalTests.Inspecting;
using static Tunnel2.Programs.Tests.Browser.InspectorPage;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>Bodies on the inspector's page, in a real browser.</summary>
public sealed class InspectorBodyTests(Chromium browser) : IClassFixture<Chromium>
{
    /// <summary>Numbers that no double is, a name twice, and what looks like the end of a text or of an object.</summary>
    private const string Json =
        """{"id":12345678901234567890,"far":1e400,"a":1.0,"a":[],"text":"\"},{:","last":{"b":[true,null]}}""";

    [Fact]
    public Task A_body_is_shown_as_it_came() => InspectedTunnel.RunAsync(
        async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                byte[] answer = head.Target switch
                {
                    "/json" => Encoding.ASCII.GetBytes(Json),
                    "/binary" => [0x0A, 0x03, 0x61, 0x00, 0xFF],
                    "/deep" => Encoding.ASCII.GetBytes(new string('[', 3000) + new string(']', 3000)),
                    _ => [0x63, 0x61, 0x66, 0xE9],
                };
                var type = head.Target switch
                {
                    "/latin" => "text/plain",
                    "/binary" => "application/x-protobuf",
                    _ => "application/json",
                };
                await connection.WriteAsync(
                    $"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\n"
                        + $"Content-Length: {answer.Length}\r\n\r\n");
                await connection.WriteAsync(answer);
            }
        },
        async inspected =>
        {
            await using var page = await OpenAsync(browser, inspected.EndPoint, "/");
            await LiveAsync(page);
            await inspected.Tunnel.ExchangeAsync("/json");
            await Row(page, "/json").ClickAsync();
            await page.WaitForTextAsync("#detail h2", "/json");
            Assert.Equal(
                """
                {
                  "id": 12345678901234567890,
                  "far": 1e400,
                  "a": 1.0,
                  "a": [],
                  "text": "\"},{:",
                  "last": {
                    "b": [
                      true,
                      null
                    ]
                  }
                }
                """.ReplaceLineEndings("\n"),
                await page.Page.Locator("#panel pre").Last.TextContentAsync());

            await inspected.Tunnel.ExchangeAsync("/binary");
            await Row(page, "/binary").ClickAsync();
            await page.WaitForTextAsync("#panel", "secrets in bytes are not masked");
            await page.Page.ClickAsync("#reveal");
            await page.Page.Locator("#panel .note").Filter(new() { HasText = "application/x-protobuf" })
                .Filter(new() { HasNotText = "not masked" }).WaitForAsync();

            await inspected.Tunnel.ExchangeAsync("/deep");
            await Row(page, "/deep").ClickAsync();
            await page.WaitForTextAsync("#detail h2", "/deep");
            Assert.Equal(6000, (await page.Page.Locator("#panel pre").Last.TextContentAsync())!.Length);

            await inspected.Tunnel.ExchangeAsync("/latin");
            await Row(page, "/latin").ClickAsync();
            await page.WaitForTextAsync("#detail h2", "/latin");
            await page.WaitForTextAsync("#panel .note", "not UTF-8");
            Assert.Equal("caf\u00e9", await page.Page.Locator("#panel pre").Last.TextContentAsync());
            await page.Page.Locator("#panel button").Filter(new() { HasText = "Hex" }).ClickAsync();
            await page.WaitForTextAsync("#panel pre.hex", "000000  63 61 66 e9 ");

            await page.Page.FillAsync("#q", "none has it");
            await page.WaitForTextAsync("#empty", "No request here fits the filter");
            await page.Page.ClickAsync("#clear");
            await page.Page.FillAsync("#q", "");
            await page.WaitForTextAsync("#empty", "No requests yet");
            page.AssertClean();
        });
}
