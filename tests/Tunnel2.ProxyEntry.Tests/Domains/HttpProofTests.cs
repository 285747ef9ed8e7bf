using System.Net;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Domains;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Domains;

/// <summary>Pages of a domain, over real connections.</summary>
public sealed class HttpProofTests
{
    private const string Text = "tunnel2-proof=abc";

    [Theory]
    [InlineData("tunnel2-proof=abc", true)]
    [InlineData(" tunnel2-proof=abc\r\n", true)]
    [InlineData("tunnel2-proof=abd", false)]
    [InlineData("<p>tunnel2-proof=abc</p>", false)]
    [InlineData("", false)]
    public async Task The_page_has_the_text_and_nothing_else(string page, bool isProof)
    {
        await using var server = Answer("200 OK", page);
        Assert.Equal(isProof, await AskAsync(server.Port));
    }

    [Fact]
    public async Task The_page_is_asked_for_by_the_domains_own_name()
    {
        var asked = "";
        await using var server = RawTcpServer.Start(async connection =>
        {
            asked = await connection.ReadThroughAsync("\r\n\r\n");
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {Text.Length}\r\nConnection: close\r\n\r\n{Text}");
            await connection.WaitForEndAsync();
        });
        Assert.True(await AskAsync(server.Port));
        Assert.StartsWith("GET /.well-known/tunnel2-challenge/token HTTP/1.1\r\n", asked, StringComparison.Ordinal);
        Assert.Contains($"Host: app.example.org:{server.Port}\r\n", asked, StringComparison.Ordinal);
        Assert.DoesNotContain("Cookie", asked, StringComparison.OrdinalIgnoreCase);
    }

    [Theory]
    [InlineData("404 Not Found", "")]
    [InlineData("500 Error", "")]
    [InlineData("302 Found", "Location: http://other.example/\r\n")]
    [InlineData("302 Found", "Location: //other.example/\r\n")]
    [InlineData("302 Found", "Location: http://app.example.org:1/\r\n")]
    [InlineData("302 Found", "Location: http://u@app.example.org/\r\n")]
    [InlineData("302 Found", "Location: https://app.example.org:8443/\r\n")]
    [InlineData("302 Found", "Location: file:///etc/passwd\r\n")]
    [InlineData("302 Found", "Location: //\r\n")]
    [InlineData("302 Found", "Location: //[\r\n")]
    [InlineData("302 Found", "Location: ///\r\n")]
    [InlineData("302 Found", "Location: http:///\r\n")]
    [InlineData("302 Found", "Location: //:80\r\n")]
    [InlineData("302 Found", "Location: //a:99999/\r\n")]
    [InlineData("302 Found", "Location: mailto:a@app.example.org\r\n")]
    [InlineData("302 Found", "")]
    [InlineData("302 Found", "Location: /again\r\n")]
    public async Task Another_answer_is_no_proof_and_no_redirect_leads_elsewhere(string status, string fields)
    {
        await using var server = Answer(status, Text, fields);
        Assert.False(await AskAsync(server.Port));
        Assert.InRange(server.ConnectionsAccepted.Value, 1, HttpProof.MostRedirects + 1);
    }

    [Theory]
    [InlineData("xn--0.example.org")]
    [InlineData("xn--.example.org")]
    [InlineData("xn--a-b.xn--99999999")]
    [InlineData("0x7f.1.example")]
    public async Task Every_domain_that_can_be_claimed_can_be_asked(string domain)
    {
        if (DomainName.FindMistake(domain) is not null)
        {
            return;
        }

        await using var server = Answer("302 Found", "", $"Location: //{domain}/\r\n");
        using var proof = new HttpProof(
            mayBePrivate: true, TimeProvider.System, static (_, _) => Task.FromResult<IPAddress[]>([IPAddress.Loopback]), server.Port);
        Assert.False(await proof.HasAsync(domain, "token", Text, DomainProofs.Limit, CancellationToken.None));
    }

    [Fact]
    public async Task A_redirect_of_the_same_host_is_followed()
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            var head = await connection.ReadThroughAsync("\r\n\r\n");
            await connection.WriteAsync(head.StartsWith("GET /there ", StringComparison.Ordinal)
                ? $"HTTP/1.1 200 OK\r\nContent-Length: {Text.Length}\r\nConnection: close\r\n\r\n{Text}"
                : "HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            await connection.WaitForEndAsync();
        });
        Assert.True(await AskAsync(server.Port));
    }

    [Fact]
    public async Task A_page_that_is_too_long_is_none_however_it_begins()
    {
        await using var server = Answer("200 OK", Text + new string(' ', HttpProof.MaxBody));
        Assert.False(await AskAsync(server.Port));
    }

    [Fact]
    public async Task A_page_that_does_not_come_ends_the_call()
    {
        var time = new ManualTimeProvider();
        await using var server = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadThroughAsync("\r\n\r\n");
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\ntunnel2");
            await connection.WaitForEndAsync();
        });
        var asked = AskAsync(server.Port, time: time);
        await server.ConnectionsAccepted.WaitForAsync(1);
        time.Advance(DomainProofs.Limit);
        Assert.False(await asked);
    }

    [Fact]
    public async Task A_look_for_addresses_that_does_not_end_ends_the_call()
    {
        var time = new ManualTimeProvider();
        var looked = new WaitSignal("addresses are looked for");
        using var proof = new HttpProof(
            mayBePrivate: true,
            time,
            (_, _) =>
            {
                looked.Set();
                return new TaskCompletionSource<IPAddress[]>().Task;
            },
            port: 9);
        var asked = proof.HasAsync("app.example.org", "token", Text, DomainProofs.Limit, CancellationToken.None);
        await looked.WaitAsync();
        time.Advance(DomainProofs.Limit);
        Assert.False(await asked.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("::ffff:127.0.0.1")]
    [InlineData("::1")]
    [InlineData("")]
    public async Task An_address_that_is_not_public_is_not_called(string address)
    {
        await using var server = Answer("200 OK", Text);
        IPAddress[] addresses = address.Length == 0 ? [] : [IPAddress.Parse(address)];
        Assert.False(await AskAsync(server.Port, mayBePrivate: false, addresses: addresses));
        Assert.Equal(0, server.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task The_address_that_was_checked_is_the_one_that_is_called()
    {
        await using var server = Answer("200 OK", Text);
        var looks = 0;
        using var proof = new HttpProof(
            mayBePrivate: true,
            TimeProvider.System,
            (_, _) =>
            {
                looks++;
                return Task.FromResult<IPAddress[]>([IPAddress.Loopback]);
            },
            server.Port);
        Assert.True(await proof.HasAsync("app.example.org", "token", Text, DomainProofs.Limit, CancellationToken.None));
        Assert.Equal(1, looks);
    }

    private static RawTcpServer Answer(string status, string page, string fields = "") => RawTcpServer.Start(async connection =>
    {
        await connection.ReadThroughAsync("\r\n\r\n");
        await connection.WriteAsync(
            $"HTTP/1.1 {status}\r\n{fields}Content-Length: {page.Length}\r\nConnection: close\r\n\r\n{page}");
        await connection.WaitForEndAsync();
    });

    private static async Task<bool> AskAsync(
        int port, bool mayBePrivate = true, IPAddress[]? addresses = null, TimeProvider? time = null)
    {
        using var proof = new HttpProof(
            mayBePrivate, time ?? TimeProvider.System, (_, _) => Task.FromResult(addresses ?? [IPAddress.Loopback]), port);
        return await proof.HasAsync("app.example.org", "token", Text, DomainProofs.Limit, CancellationToken.None);
    }
}
