using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

/// <summary>Sign-ins at providers that do not answer.</summary>
public sealed class OidcSignInTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task A_provider_that_stalls_holds_up_its_own_gate_alone_and_one_tunnel_not_the_others()
    {
        await using var stalled = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        await using var other = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var secret = Path.Combine(_folder.FullName, "secret");
        await File.WriteAllTextAsync(secret, "s3cret\n");
        var settings = SettingsFixture.LoadValid(
        [
            $"StateFolder={Path.Combine(_folder.FullName, "state")}", .. GateOf("staff", stalled.Port), .. GateOf("guests", other.Port),
        ]);
        var time = new ManualTimeProvider();
        using var gates = new OidcSignIn(settings, time, new ContainedFaults(), NullLogger<OidcSignIn>.Instance);
        List<Task<(ErrorResponse? Answer, ProxyError Error)>> held = [];
        var visitors = 0;
        for (var tunnel = 0; held.Count < OidcGate.MostVisits; tunnel++)
        {
            for (var visit = 0; visit < OidcGate.MostVisits / 4; visit++)
            {
                held.Add(VisitAsync("staff", $"web-{tunnel}"));
            }

            await ExpectNoPlaceAsync("staff", $"web-{tunnel}");
        }

        await ExpectNoPlaceAsync("staff", "one-more");
        held.Add(VisitAsync("guests", "web-0"));
        Assert.All(held, static visit => Assert.False(visit.IsCompleted));

        // All are given up, and there are places again.
        await time.ArmedTimers.UntilAsync(() => time.ArmedTimers.Value >= 2 * held.Count, "each visit has its limits");
        time.Advance(OidcServices.Limit);
        Assert.All(await Task.WhenAll(held), static visit => Assert.Equal((null, ProxyError.SignInUnavailable), visit));
        var again = VisitAsync("staff", "web-0");
        await time.ArmedTimers.UntilAsync(() => time.ArmedTimers.Value >= 2, "it has begun");
        Assert.False(again.IsCompleted);
        time.Advance(OidcServices.Limit);
        await again;

        async Task ExpectNoPlaceAsync(string gate, string tunnel)
        {
            var refused = VisitAsync(gate, tunnel);
            Assert.True(refused.IsCompleted);
            Assert.Equal((null, ProxyError.SignInUnavailable), await refused);
        }

        // Each visitor has an address of its own.
        Task<(ErrorResponse? Answer, ProxyError Error)> VisitAsync(string gate, string tunnel) => gates.ServeAsync(
            new SignInPlace(gate, tunnel),
            new SignInVisit(
                "GET", tunnel + ".localhost", "/.tunnel2/login", "", IsCrossSite: false, new AddressKey(1, (ulong)++visitors)));

        string[] GateOf(string name, int port) =>
        [
            $"Oidc:{name}:Authority=http://127.0.0.1:{port}", $"Oidc:{name}:ClientId=tunnel",
            $"Oidc:{name}:ClientSecretFile={secret}", $"Oidc:{name}:AllowEmails=*",
        ];
    }
}
