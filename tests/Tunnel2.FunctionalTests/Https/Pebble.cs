using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>A real authority for tests, Debian's package <c>pebble</c>, with a name server that leads every name to this machine.</summary>
internal sealed class Pebble : IAsyncDisposable
{
    private readonly ProcessRunner _process;
    private readonly NameServer? _names;

    private Pebble(ProcessRunner process, NameServer? names, int management)
    {
        _process = process;
        _names = names;
        Management = management;
    }

    /// <summary>Where it gives the root of its certificates, at <c>/roots/0</c>.</summary>
    public int Management { get; }

    public int Orders => _process.Lines.Count(static line => line.Contains("Added order", StringComparison.Ordinal));

    public int Accounts => _process.Lines.Count(static line => line.Contains("accounts in memory", StringComparison.Ordinal));

    public static async Task SkipWithoutAsync() => Assert.SkipUnless(
        (await Shell.RunBashAsync("command -v pebble")).ExitCode == 0, "There is no pebble here.");

    /// <summary>The settings of a server that asks it for certificates, for names of example.test.</summary>
    /// <param name="folder">Gets the certificate of the authority behind it.</param>
    /// <param name="authority">Has issued pebble's own certificate.</param>
    /// <param name="port">Where it listens.</param>
    public static string[] Settings(TemporaryFolder folder, TestAuthority authority, int port)
    {
        File.WriteAllText(folder["ca.pem"], authority.Pem);
        return
        [
            "Public:HttpsListen=127.0.0.1:0", "Domain=example.test", "Acme:AcceptTerms=true",
            $"Acme:Directory=https://localhost:{port}/dir", "Acme:Ca=" + folder["ca.pem"],
        ];
    }

    /// <summary>Starts it; it answers when the task ends.</summary>
    /// <param name="folder">Gets its files, and may have the names' TXT records.</param>
    /// <param name="authority">Issues its own certificate.</param>
    /// <param name="port">Where it listens.</param>
    /// <param name="comesTo">The ports of HTTP and HTTPS to which it comes to see whether a name is here.</param>
    /// <param name="refusedNonces">How many of a hundred good nonces it refuses.</param>
    /// <param name="eabKey">The key of the account that it asks for, in base64url; null: it asks for none.</param>
    /// <param name="network">Starts it in a network that has a name server at 127.0.0.1:53; null: in that of the test.</param>
    public static async Task<Pebble> StartAsync(
        TemporaryFolder folder, TestAuthority authority, int port, (int Http, int Https) comesTo, int refusedNonces = 0,
        string? eabKey = null, StartInNetwork? network = null)
    {
        var names = network is null ? NameServer.Start(folder["records"]) : null;
        var management = FreePort.Next();
        File.WriteAllText(folder["pebble.pem"], authority.Issue("localhost"));
        File.WriteAllText(folder["pebble.json"], JsonSerializer.Serialize(new
        {
            pebble = new
            {
                listenAddress = $"127.0.0.1:{port}",
                managementListenAddress = $"127.0.0.1:{management}",
                certificate = folder["pebble.pem"],
                privateKey = folder["pebble.pem"],
                httpPort = comesTo.Http,
                tlsPort = comesTo.Https,
                externalAccountBindingRequired = eabKey is not null,
                externalAccountMACKeys = eabKey is null ? [] : new Dictionary<string, string> { ["kid-1"] = eabKey },
            },
        }));
        var start = network ?? (static (program, arguments, environment) => ProcessRunner.Start(program, arguments, environment));
        var process = start(
            "pebble",
            ["-strict", "-config", folder["pebble.json"], "-dnsserver", $"127.0.0.1:{names?.Port ?? 53}"],
            new Dictionary<string, string?> { ["PEBBLE_WFE_NONCEREJECT"] = $"{refusedNonces}", ["PEBBLE_VA_NOSLEEP"] = "1" });
        var running = new Pebble(process, names, management);
        try
        {
            await process.WaitForLineAsync(static line => line.Contains("ACME directory available", StringComparison.Ordinal));
            return running;
        }
        catch
        {
            await running.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _process.DisposeAsync();
        if (_names is not null)
        {
            await _names.DisposeAsync();
        }
    }
}
