using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Configuration;
using Tunnel2.FunctionalTests.Https;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Domains;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Domains;

/// <summary>Proofs by a name server and by a page, together.</summary>
public sealed class DomainProofTests : IDisposable
{
    private const string Domain = "app.example.org";
    private readonly TemporaryFolder _folder = new();
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public async Task A_page_is_a_proof_where_there_is_no_record_and_counts_as_long()
    {
        await File.WriteAllTextAsync(_folder["records"], "");
        await using var names = NameServer.Start(_folder["records"]);
        var page = "";
        var asked = "";
        await using var owner = RawTcpServer.Start(async connection =>
        {
            asked = (await connection.ReadHeadAsync()).Target;
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {page.Length}\r\nConnection: close\r\n\r\n{page}");
            await connection.WaitForEndAsync();
        });
        var proofs = Create(names.Port, owner.Port, out var http);
        using var _ = http;
        var refusal = await proofs.CheckAsync("web", Domain, CancellationToken.None);
        Assert.Equal(RejectCode.NameNotAllowed, refusal!.Code);
        Assert.EndsWith(asked, $"/.well-known/tunnel2-challenge/{proofs.TokenOf("web", Domain)}", StringComparison.Ordinal);
        Assert.Contains($"or the page http://{Domain}{asked} with it.", refusal.Text, StringComparison.Ordinal);

        // A page that repeats its path, and one for another agent, prove nothing.
        page = proofs.TokenOf("web", Domain);
        Assert.NotNull(await proofs.CheckAsync("web", Domain, CancellationToken.None));
        page = proofs.TextOf("other", Domain);
        Assert.NotNull(await proofs.CheckAsync("web", Domain, CancellationToken.None));
        page = proofs.TextOf("web", Domain);
        Assert.Null(await proofs.CheckAsync("web", Domain, CancellationToken.None));
        Assert.Equal(4, owner.ConnectionsAccepted.Value);
        page = "";
        Assert.Null(await proofs.CheckAsync("WEB", Domain, CancellationToken.None));
        Assert.Equal(4, owner.ConnectionsAccepted.Value);
        _time.Advance(DomainProofs.Kept);
        Assert.NotNull(await proofs.CheckAsync("web", Domain, CancellationToken.None));

        // A page speaks for one host.
        Assert.DoesNotContain(
            "page", (await proofs.CheckAsync("web", "*.example.org", CancellationToken.None))!.Text, StringComparison.Ordinal);
        Assert.Equal(5, owner.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task A_record_needs_no_page_and_an_agent_causes_so_many_calls()
    {
        await File.WriteAllTextAsync(_folder["records"], "");
        await using var names = NameServer.Start(_folder["records"]);
        await using var owner = RawTcpServer.StartAnswering("HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        var proofs = Create(names.Port, owner.Port, out var http);
        using var _ = http;
        for (var i = 0; i < ProofRate.Burst; i++)
        {
            Assert.Equal(RejectCode.NameNotAllowed, (await proofs.CheckAsync("web", Domain, CancellationToken.None))!.Code);
        }

        var later = await proofs.CheckAsync("web", Domain, CancellationToken.None);
        Assert.Equal((RejectCode.Overloaded, ProofRate.Period), (later!.Code, later.RetryAfter));
        Assert.Equal(ProofRate.Burst, owner.ConnectionsAccepted.Value);
        Assert.Equal(RejectCode.NameNotAllowed, (await proofs.CheckAsync("other", Domain, CancellationToken.None))!.Code);
        await File.WriteAllTextAsync(_folder["records"], $"_tunnel2-challenge.{Domain} {proofs.TextOf("web", Domain)}\n");
        Assert.Null(await proofs.CheckAsync("web", Domain, CancellationToken.None));
        Assert.Equal(ProofRate.Burst + 1, owner.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task An_agent_whose_name_servers_do_not_answer_holds_up_no_other()
    {
        await File.WriteAllTextAsync(_folder["records"], "");
        await using var names = NameServer.Start(_folder["records"]);
        var called = new AsyncCounter("pages that were asked for");
        await using var owner = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            called.Increment();
            await connection.WaitForEndAsync();
        });
        var proofs = Create(names.Port, owner.Port, out var http);
        using var _ = http;
        using var stop = new CancellationTokenSource();
        var looks = Enumerable.Range(0, DomainProofs.MostOfAgent)
            .Select(_ => proofs.CheckAsync("web", Domain, stop.Token)).ToList();
        await called.WaitForAsync(DomainProofs.MostOfAgent, TimeSpan.FromSeconds(20));
        Assert.Equal(RejectCode.Overloaded, (await proofs.CheckAsync("WEB", "b.example.org", CancellationToken.None))!.Code);
        var other = proofs.CheckAsync("other", Domain, stop.Token);
        await called.WaitForAsync(DomainProofs.MostOfAgent + 1, TimeSpan.FromSeconds(20));
        await stop.CancelAsync();
        await Task.WhenAll(looks.Append(other).Select(static look => look.ContinueWith(static _ => { }, TaskScheduler.Default)));
        Assert.NotEqual(
            "Too many domains are being checked.", (await proofs.CheckAsync("web", "*.example.org", CancellationToken.None))!.Text);
    }

    [Theory]
    [InlineData(Domain, 1)]
    [InlineData("*.example.org", 0)]
    public async Task Name_servers_and_a_page_that_stall_leave_the_agent_its_answer(string domain, int pages)
    {
        Assert.InRange(DomainProofs.Limit, TimeSpan.Zero, ProtocolLimits.HandshakeTimeout - TimeSpan.FromSeconds(1));
        using var names = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        names.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using var owner = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var proofs = Create(((IPEndPoint)names.LocalEndPoint!).Port, owner.Port, out var http);
        using var _ = http;
        var check = proofs.CheckAsync("web", domain, CancellationToken.None);
        await names.ReceiveAsync(new byte[4096]);
        _time.Advance(DomainProofs.LimitBeforePage);
        await owner.ConnectionsAccepted.WaitForAsync(pages);
        _time.Advance(DomainProofs.Limit - DomainProofs.LimitBeforePage);
        Assert.Equal(RejectCode.Overloaded, (await check.WaitAsync(TimeSpan.FromSeconds(20)))!.Code);
        Assert.Equal(pages, owner.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task A_page_that_stalls_where_there_is_no_record_is_a_refusal_that_says_what_is_needed()
    {
        await File.WriteAllTextAsync(_folder["records"], "");
        await using var names = NameServer.Start(_folder["records"]);
        await using var owner = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var proofs = Create(names.Port, owner.Port, out var http);
        using var _ = http;
        var check = proofs.CheckAsync("web", Domain, CancellationToken.None);
        await owner.ConnectionsAccepted.WaitForAsync(1);
        _time.Advance(DomainProofs.Limit);
        var refusal = (await check.WaitAsync(TimeSpan.FromSeconds(20)))!;
        Assert.Equal(RejectCode.NameNotAllowed, refusal.Code);
        Assert.Contains(proofs.TextOf("web", Domain), refusal.Text, StringComparison.Ordinal);
    }

    public void Dispose() => _folder.Dispose();

    private DomainProofs Create(int names, int port, out HttpProof http)
    {
        var loaded = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["Tunnel2:Domains:Resolvers"] = $"127.0.0.1:{names}",
            ["Tunnel2:Domains:HttpProof"] = "any",
        }).Build());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        http = new HttpProof(mayBePrivate: true, _time, static (_, _) => Task.FromResult<IPAddress[]>([IPAddress.Loopback]), port);
        return new DomainProofs(loaded.Settings, new TxtResolver(loaded.Settings, TimeProvider.System), _time, http);
    }
}
