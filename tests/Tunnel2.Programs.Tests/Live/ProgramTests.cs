using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Live;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Live;

/// <summary>The commands as processes, beside a real server.</summary>
public sealed class ProgramTests
{
    [Fact]
    public Task Top_prints_the_sessions_once_and_asks_for_the_token_it_lacks() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            await tunnel.ExchangeAsync("/status/200");
            using var subscriber = await Subscriber.ConnectAsync(
                tunnel.Entry.Admin, static o => o.SetRequestHeader("Authorization", "Bearer s3cret"));
            await subscriber.SubscribeAsync("session.web.status");
            await subscriber.ReceiveUntilAsync(static m => m.ToString().Contains("\"online\":true"));
            await using var right = BuiltPrograms.StartAgent(
                ["top", "--once", "--host", tunnel.Entry.Admin.ToString()],
                new Dictionary<string, string?> { ["TUNNEL2_ADMIN_TOKEN"] = "s3cret" });
            var shown = await Shell.FinishAsync(right);
            Assert.Equal(0, shown.ExitCode);
            Assert.Matches("1 session online", shown.Output);
            Assert.Matches("(?m)^web +[0-9]+ ", shown.Output);

            await using var without = BuiltPrograms.StartAgent(["top", "--host", tunnel.Entry.Admin.ToString()]);
            var refused = await Shell.FinishAsync(without);
            Assert.Equal(3, refused.ExitCode);
            Assert.Contains("wants its admin token", refused.Output);
        },
        new TunnelSetup { Settings = ["Admin:Token=s3cret"], Patience = Limits.Programs });

    [Fact]
    public Task What_a_server_keeps_of_a_session_is_exported_with_its_admin_token() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var admin = new HttpClient { BaseAddress = new Uri($"http://{tunnel.Entry.Admin}") };
            admin.DefaultRequestHeaders.Add("Authorization", "Bearer s3cret");
            using var folder = new TemporaryFolder();
            var file = folder["a.har"];
            string[] export = ["inspect", "export", "--har", file, "--from", $"http://{tunnel.Entry.Admin}/inspector/#/web/"];
            var token = new Dictionary<string, string?> { ["TUNNEL2_ADMIN_TOKEN"] = "s3cret" };
            await using (var early = BuiltPrograms.StartAgent(export, token))
            {
                var none = await Shell.FinishAsync(early);
                Assert.Equal(2, none.ExitCode);
                Assert.Contains("no tunnel is inspected at", none.Output);
            }

            (await admin.PutAsync("/api/v1/sessions/web/inspection", null)).EnsureSuccessStatusCode();
            await tunnel.ExchangeAsync("/status/201?token=hidden");
            await using (var without = BuiltPrograms.StartAgent(export))
            {
                var refused = await Shell.FinishAsync(without);
                Assert.Equal(3, refused.ExitCode);
                Assert.Contains("TUNNEL2_ADMIN_TOKEN", refused.Output);
                Assert.False(File.Exists(file));
            }

            foreach (var (reveals, shown) in new[] { (false, "***"), (true, "hidden") })
            {
                await using var right = BuiltPrograms.StartAgent(reveals ? [.. export, "--reveal", "--name", "web"] : export, token);
                var done = await Shell.FinishAsync(right);
                Assert.True(done.ExitCode == 0, done.Output);
                using var har = JsonDocument.Parse(await File.ReadAllTextAsync(file));
                var request = Assert.Single(har.RootElement.GetProperty("log").GetProperty("entries").EnumerateArray())
                    .GetProperty("request");
                Assert.EndsWith($"/status/201?token={shown}", request.GetProperty("url").GetString());
            }

            var line = Assert.Single(tunnel.Entry.Log.All, static line => line.EventId == 2243);
            Assert.EndsWith("session web: the HAR file", line.Text.Trim());
        },
        new TunnelSetup { Settings = ["Admin:Token=s3cret"], Patience = Limits.Programs });

    /// <summary>More than a pipe takes, so that the program sees that its reader has left.</summary>
    [Fact]
    public Task An_export_ends_well_with_the_reader_of_its_output() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            Assert.SkipUnless(OperatingSystem.IsLinux(), "Other systems have the console's stream, which says nothing of its reader.");
            using var admin = new HttpClient { BaseAddress = new Uri($"http://{tunnel.Entry.Admin}") };
            (await admin.PutAsync("/api/v1/sessions/web/inspection", null)).EnsureSuccessStatusCode();
            for (int i = 0; i < 200; i++)
            {
                await tunnel.ExchangeAsync($"/status/201?{new string('x', 1000)}");
            }

            ShellResult result = await Shell.RunBashAsync(
                "dotnet \"$1\" inspect export --har - --from \"$2\" 2>&1 | head -c 1; echo \" ended with ${PIPESTATUS[0]}\"",
                BuiltPrograms.AgentPath, $"http://{tunnel.Entry.Admin}");
            Assert.Equal("{ ended with 0", result.Output.Trim());
        },
        new TunnelSetup { Patience = Limits.Programs });

    [Fact]
    public Task A_tap_killed_at_any_moment_leaves_the_server_and_its_recording_usable() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            var ring = tunnel.Entry.Live.Ring!;
            using var folder = new TemporaryFolder();
            var file = folder["a.rec"];
            await using (var tap = BuiltPrograms.StartAgent(["tap", "--ring", ring.Path, "--json", "--record", file]))
            {
                await tap.WaitForLineAsync(static line => line.Contains("following"), Limits.Start);
                // Asked until one is seen: the reader attaches after it said so.
                while (!tap.Lines.Any(static line => line.Contains("\"request\"")))
                {
                    Assert.Equal(200, (await tunnel.ExchangeAsync("/status/200")).Head.StatusCode);
                }

                // Each is asked for when the one before has been shown, so that the tap had nothing to do between them and wrote the
                // recording on.
                foreach (var status in new[] { 201, 202 })
                {
                    await tunnel.ExchangeAsync($"/status/{status}");
                    await tap.WaitForLineAsync(line => line.Contains($"/status/{status}"), Limits.Work);
                }

                tap.Kill();
                await tap.WaitForExitAsync(Limits.Work);
            }

            Assert.Equal(200, (await tunnel.ExchangeAsync("/status/200")).Head.StatusCode);
            await using var stats = BuiltPrograms.StartAgent(["stats", file, "--json"]);
            var counted = await Shell.FinishAsync(stats);
            var line = counted.Output.Split('\n').First(static text => text.StartsWith('{'));
            Assert.True(JsonDocument.Parse(line).RootElement.GetProperty("sessions")[0].GetProperty("requests").GetInt64() >= 1);
        },
        new TunnelSetup { Patience = Limits.Programs });

    // A limit on the size of files is a disk that is full there: with the signal ignored, writes beyond it fail with an error. The
    // runtime's own files in memory would fail, too, without the variable.
    private const string FullDisk = "trap '' XFSZ; ulimit -f 4; export DOTNET_EnableWriteXorExecute=0; ";

    [Fact]
    public async Task On_a_full_disk_a_recording_ends_with_an_error()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Limits are the shell's.");
        using var folder = new TemporaryFolder();
        using (var recording = RecordingWriter.Create(folder["whole.rec"]))
        {
            Span<byte> payload = stackalloc byte[240];
            var length = RequestRecordCodec.Encode(
                payload,
                new RequestRecord
                {
                    SessionName = "web"u8,
                    Target = "/"u8,
                    StartedUnixMicroseconds = 1_700_000_000_000_000,
                    Status = 200,
                    Method = RequestMethod.Get,
                });
            for (var i = 0; i < 5000; i++)
            {
                recording.Add(i, (ushort)RecordType.Request, payload[..length]);
            }
        }

        var copied = await Shell.RunBashAsync(
            FullDisk + "dotnet \"$1\" tap --replay \"$2\" --record \"$3\" > /dev/null",
            BuiltPrograms.AgentPath,
            folder["whole.rec"],
            folder["copy.rec"]);
        Assert.True(copied.ExitCode == 1, $"{copied.ExitCode}: {copied.Output}");
        Assert.StartsWith("tunnel2: ", copied.Output);
        Assert.DoesNotContain('\n', copied.Output);
    }

    [Fact]
    public async Task On_a_full_disk_the_server_says_so_and_forwards_without_a_ring()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Limits are the shell's.");
        using var folder = new TemporaryFolder();
        var server = await Shell.RunBashAsync(
            FullDisk
                + "coproc dotnet \"$1\" --Tunnel2:Ring:File=\"$2\" --Tunnel2:Public:HttpListen=127.0.0.1:0 "
                    + "--Tunnel2:Uplink:Listen=127.0.0.1:0 --Tunnel2:Admin:Listen=127.0.0.1:0 2>&1; "
            + "pid=$!; while read -r line <&\"${COPROC[0]}\"; do echo \"$line\"; case \"$line\" in *Ready:*) kill -TERM $pid;; esac; "
                + "done; wait $pid",
            BuiltPrograms.EntryPath, folder["e1.ring"]);
        Assert.Contains("No live view of requests", server.Output);
        Assert.Contains("Ready: ", server.Output);
        Assert.Equal(0, server.ExitCode);
        Assert.False(File.Exists(folder["e1.ring"]));
    }
}
