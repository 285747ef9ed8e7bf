using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Live;

/// <summary><c>tunnel2 tap --host</c> as a process, beside a real server whose relay has TLS and a token.</summary>
public sealed class RelayProgramTests : IDisposable
{
    private readonly TemporaryFolder _state = new();

    public void Dispose() => _state.Dispose();

    [Fact]
    public Task A_tap_trusts_the_fingerprint_and_shows_its_token() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            var relay = $"tls://{tunnel.Entry.Live.RelayEndPoint}";
            var fingerprint = ((ProxyEntry.Certificates.ReloadingCertificate)tunnel.Entry.Live.RelayCertificate!)
                .Current.Fingerprint.ToString();
            await tunnel.ExchangeAsync("/status/201");
            await using var tap = BuiltPrograms.StartAgent(
                ["tap", "--host", relay, "--server-fingerprint", fingerprint, "--from-oldest"],
                new Dictionary<string, string?> { ["TUNNEL2_ADMIN_TOKEN"] = "s3cret" });
            await tap.WaitForLineAsync(static line => line.Contains("/status/201"), Limits.Start);

            await using var wrong = BuiltPrograms.StartAgent(
                ["tap", "--host", relay, "--server-fingerprint", fingerprint, "--token", "s3creT"]);
            var refused = await Shell.FinishAsync(wrong);
            Assert.Equal(3, refused.ExitCode);
            Assert.Contains("the admin token is wrong", refused.Output);

            await using var plain = BuiltPrograms.StartAgent(["tap", "--host", $"{tunnel.Entry.Live.RelayEndPoint}"]);
            var unencrypted = await Shell.FinishAsync(plain);
            Assert.Equal(3, unencrypted.ExitCode);
            Assert.Contains("the relay expects TLS", unencrypted.Output);

            await using var stranger = BuiltPrograms.StartAgent(["tap", "--host", relay]);
            await stranger.WaitForLineAsync(line => line.Contains("trust it by --server-fingerprint " + fingerprint), Limits.Start);
        },
        new TunnelSetup
        {
            Patience = Limits.Programs,
            Settings =
            [
                "Admin:Token=s3cret", "Relay:Listen=127.0.0.1:0", "Relay:Certificate=self-made", $"StateFolder={_state["state"]}",
            ],
        });
}
