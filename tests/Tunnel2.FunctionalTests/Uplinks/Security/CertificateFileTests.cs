using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>The certificate's file while the entry runs, and over its restarts.</summary>
public sealed class CertificateFileTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();

    [Fact]
    public async Task A_renewed_certificate_is_for_new_connections_and_running_sessions_stay()
    {
        var (first, second) = (_authority.Issue("127.0.0.1"), _authority.Issue("127.0.0.1"));
        File.WriteAllText(_folder["uplink.pem"], first);
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, "Uplink:Certificate=" + _folder["uplink.pem"]);
        await using var before = await AgentFixture.StartReadyAsync(Pinned(entry, first, "before"));

        File.WriteAllText(_folder["uplink.pem"], "-----BEGIN CERTIFICATE-----\nhalf of it");
        time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2253);
        await using (var meanwhile = await AgentFixture.StartReadyAsync(Pinned(entry, first, "meanwhile")))
        {
            Assert.Equal(2, entry.Directory.Count);
        }

        File.WriteAllText(_folder["uplink.pem"], second);
        time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2252);
        await using var after = await AgentFixture.StartReadyAsync(Pinned(entry, second, "after"));
        Assert.Contains(entry.Directory.Snapshot(), static session => session.Name == "before");
        Assert.Equal(0, before.Events.EndCount.Value);
    }

    [Fact]
    public async Task A_renewed_chain_is_taken_though_the_certificate_is_the_same()
    {
        using var other = new TestAuthority("another");
        var pem = _authority.Issue("127.0.0.1");
        File.WriteAllText(_folder["uplink.pem"], pem);
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, "Uplink:Certificate=" + _folder["uplink.pem"]);
        var before = entry.UplinkCertificate;

        // A copy that stopped in the middle, and then the rest of it.
        File.WriteAllText(_folder["uplink.pem"], pem + _authority.Pem);
        time.Advance(ReloadLoop.Period);
        await WaitSignal.UntilAsync(() => !ReferenceEquals(entry.UplinkCertificate, before), "the chain is taken");
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2252);
    }

    [Fact]
    public async Task A_self_made_certificate_is_made_once_for_its_owner_only_and_kept_over_restarts()
    {
        var state = _folder["state"];
        string[] settings = ["Uplink:Certificate=self-made", "StateFolder=" + state];
        string flag;
        await using (var entry = await EntryFixture.StartAsync(null, settings))
        {
            Assert.Contains(entry.Log.All, static line => line.EventId == 2250);
            flag = Flag(entry);
            if (!OperatingSystem.IsWindows())
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(state));
                Assert.Equal(
                    UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(Assert.Single(Directory.GetFiles(state))));
            }
        }

        await using var again = await EntryFixture.StartAsync(null, settings);
        Assert.DoesNotContain(again.Log.All, static line => line.EventId == 2250);
        Assert.Equal(flag, Flag(again));
        await using var pinned = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(again.Uplink.Port, 9) with { Tls = new TlsOptions { ServerFingerprints = [flag] } });

        // It vouches for itself too: the file is an authority for its own names.
        await using var verified = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(again.Uplink.Port, 9, "other") with
            {
                Tls = new TlsOptions { ServerCaFile = Path.Combine(state, "uplink.pem") },
            });
    }

    [Fact]
    public async Task A_state_folder_that_cannot_be_made_is_said_with_what_to_set()
    {
        // No file system takes such a name.
        var folder = _folder[new string('x', 300)];
        var error = await Assert.ThrowsAsync<IOException>(
            () => EntryFixture.StartAsync(null, "Uplink:Certificate=self-made", "StateFolder=" + folder));
        Assert.Contains("Tunnel2:StateFolder", error.Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private static AgentOptions Pinned(EntryFixture entry, string pem, string name) =>
        AgentFixture.Options(entry.Uplink.Port, 9, name) with
        {
            Tls = new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(pem)] },
        };

    /// <summary>What the entry asks people to give their agents.</summary>
    private static string Flag(EntryFixture entry)
    {
        var line = Assert.Single(entry.Log.All, static line => line.EventId == 2251).Text;
        return line[(line.IndexOf("--server-fingerprint ", StringComparison.Ordinal) + "--server-fingerprint ".Length)..].Trim();
    }
}
