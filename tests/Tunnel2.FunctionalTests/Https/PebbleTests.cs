using System.Security.Cryptography;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>
/// Certificates from a real authority for tests: Debian's package <c>pebble</c>, which refuses a third of all good nonces here and checks
/// names by visits.
/// </summary>
public sealed class PebbleTests : IDisposable
{
    private const string Name = "web.example.test";

    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();
    private readonly int _port = FreePort.Next();

    [Fact]
    public async Task A_name_is_proved_over_HTTP_while_visitors_are_redirected_and_kept_over_a_restart()
    {
        await Pebble.SkipWithoutAsync();
        string[] settings = [.. Settings(), "Https:Redirect=on"];
        string first;
        await using (var entry = await EntryFixture.StartAsync(null, settings))
        {
            await using var pebble = await StartPebbleAsync(entry);
            first = await ObtainAsync(entry);
        }

        // The authority is gone, and the certificate is there.
        await using var again = await EntryFixture.StartAsync(null, settings);
        Assert.Equal(first, await FingerprintAsync(again));
    }

    [Fact]
    public async Task A_name_is_proved_by_a_handshake()
    {
        await Pebble.SkipWithoutAsync();
        await using var entry = await EntryFixture.StartAsync(null, [.. Settings(), "Acme:Challenge=tls-alpn-01"]);
        await using var pebble = await StartPebbleAsync(entry);
        await ObtainAsync(entry);
    }

    [Fact]
    public async Task A_name_is_proved_by_a_record_that_a_program_makes_and_removes()
    {
        await Pebble.SkipWithoutAsync();
        var hook = _folder["hook"];
        var records = _folder["records"];
        File.WriteAllText(hook, $"""
            #!/bin/sh
            echo "a secret of the provider"
            case "$1" in
                add) echo "$2 $3" >>"{records}" ;;
                remove) grep -v -F -x -- "$2 $3" "{records}" >"{records}.new"; mv "{records}.new" "{records}" ;;
            esac
            """ + "\n");
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(hook, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        await using var entry = await EntryFixture.StartAsync(
            null, [.. Settings(), "Acme:Challenge=dns-01", "Acme:DnsHook=" + hook, "Acme:DnsWait=0s"]);
        await using var pebble = await StartPebbleAsync(entry);
        await ObtainAsync(entry);
        Assert.Empty(File.ReadAllLines(records));
        Assert.DoesNotContain(entry.Log.All, static line => line.Text.Contains("secret", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_account_that_the_authority_asks_for_is_used()
    {
        await Pebble.SkipWithoutAsync();
        var key = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32)).TrimEnd('=').Replace('+', '-').Replace('/', '_');
        await using var entry = await EntryFixture.StartAsync(null, [.. Settings(), "Acme:EabKeyId=kid-1", "Acme:EabKey=" + key]);
        await using var pebble = await StartPebbleAsync(entry, key);
        await ObtainAsync(entry);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private string[] Settings() => [.. Pebble.Settings(_folder, _authority, _port), "StateFolder=" + _folder["state"]];

    /// <summary>A tunnel takes the name, a visitor asks for it, and later ones get its certificate.</summary>
    private static async Task<string> ObtainAsync(EntryFixture entry)
    {
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 9));
        var before = await FingerprintAsync(entry);
        await entry.Log.Written.UntilAsync(
            () => entry.Log.All.Any(static line => line.EventId is 2271 or 2272), "an order has ended", TimeSpan.FromSeconds(60));
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2272);
        await using var visitor = await Tls.ConnectAsync(entry, Name);
        var after = Tls.FingerprintOf(visitor);
        Assert.NotEqual(before, after);
        Assert.Contains("Pebble", visitor.RemoteCertificate!.Issuer, StringComparison.Ordinal);
        await Tls.AssertServedAsync(visitor);
        return after;
    }

    private static async Task<string> FingerprintAsync(EntryFixture entry)
    {
        await using var visitor = await Tls.ConnectAsync(entry, Name);
        return Tls.FingerprintOf(visitor);
    }

    private Task<Pebble> StartPebbleAsync(EntryFixture entry, string? eabKey = null) =>
        Pebble.StartAsync(_folder, _authority, _port, (entry.Http.Port, entry.Https.Port), refusedNonces: 33, eabKey);
}
