using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>The older form of the client's command line, with a chosen session id, as the built program takes it.</summary>
public sealed class OlderFormTests
{
    [Theory]
    [InlineData("6F9619FF-8B86-D011-B42D-00C04FC964FF")]
    [InlineData("6f9619ff8b86d011b42d00c04fc964ff")]
    public async Task A_chosen_session_id_is_served_by_host_and_in_test_mode_by_path(string id)
    {
        const string Name = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
        var port = (await SharedBackend.GetAddressAsync()).Port;
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:TestMode=true");
        await using var agent = BuiltPrograms.StartAgent(
            [
                "--dev-session-id", id, "--backend-host", "127.0.0.1", "--backend-port", $"{port}", "--tunnel-host", "127.0.0.1",
                "--tunnel-port", $"{entry.Uplink.Port}",
            ]);

        var ready = await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);

        Assert.Contains(Name, ready, StringComparison.Ordinal);
        var byPath = await Shell.CurlAsync("--fail", $"http://{entry.Public}/session/{Name}/hash/1");
        Assert.Equal(PatternBytes.Sha256Hex(1), byPath.EnsureSuccess().Output);
        var byHost = await Shell.CurlAsync("--fail", "-H", $"Host: {Name}.localhost", $"http://{entry.Public}/hash/1");
        Assert.Equal(PatternBytes.Sha256Hex(1), byHost.EnsureSuccess().Output);
    }
}
