using System.Diagnostics;
using Tunnel2.Client.Services;

namespace Tunnel2.Client.Tests.Services;

public sealed class SystemdManagerTests
{
    private static readonly ServiceId _machine = new(null, IsOfUser: false);
    private static readonly ServiceId _user = new("web", IsOfUser: true);
    private static readonly ServiceDefinition _service = new(_machine, ["/usr/bin/tunnel2"], "/etc/tunnel2/tunnels.yml");
    private readonly SystemdManager _manager = new("", static name => name == "HOME" ? "/home/alice" : null);

    private string[] LinesOf(ServiceDefinition service) => _manager.Describe(service).Split('\n');

    [Fact]
    public void The_machine_s_unit_is_hardened_watched_and_has_its_own_user()
    {
        string[] lines = LinesOf(_service);
        Assert.Equal(SystemdManager.Mark, lines[0]);
        string[] wanted =
        [
            "Type=notify", "ExecStart=/usr/bin/tunnel2 start --config /etc/tunnel2/tunnels.yml", "WatchdogSec=30s", "Restart=always",
            "RestartPreventExitStatus=2 3", "DynamicUser=yes", "StateDirectory=tunnel2-agent", "RuntimeDirectory=tunnel2-agent",
            "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "CapabilityBoundingSet=",
            "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged", "WantedBy=multi-user.target",
        ];
        Assert.Equal([], wanted.Except(lines));

        // The runtime compiles while it runs.
        Assert.DoesNotContain(lines, static line => line.StartsWith("MemoryDenyWriteExecute", StringComparison.Ordinal));
        Assert.DoesNotContain(lines, static line => line.StartsWith("LoadCredential", StringComparison.Ordinal));
    }

    [Fact]
    public void A_token_is_a_credential_and_never_in_the_unit()
    {
        ServiceDefinition service = _service with { Token = "s3cret" };
        string[] lines = LinesOf(service);
        Assert.Contains("LoadCredential=token:/etc/tunnel2/credentials/tunnel2-agent.token", lines);
        Assert.Contains(
            "ExecStart=/usr/bin/tunnel2 start --config /etc/tunnel2/tunnels.yml --token-file ${CREDENTIALS_DIRECTORY}/token", lines);
        Assert.DoesNotContain("s3cret", string.Join('\n', lines), StringComparison.Ordinal);
        IReadOnlyList<ServiceStep> steps = _manager.Install(service);
        var secret = Assert.Single(steps.OfType<ServiceStep.Write>(), static step => step.IsSecret);
        Assert.Equal(("/etc/tunnel2/credentials/tunnel2-agent.token", "s3cret\n"), (secret.Path, secret.Text));
        Assert.DoesNotContain("s3cret", string.Join('\n', steps) + service, StringComparison.Ordinal);

        // An installation without one removes what an older one has left.
        Assert.Contains(new ServiceStep.Delete(secret.Path), _manager.Install(_service));
    }

    [Fact]
    public void A_file_that_not_everyone_may_read_is_read_by_systemd_unless_a_user_is_named()
    {
        ServiceDefinition hidden = _service with { IsConfigReadable = false, ConfigFile = "/etc/tunnel2/a b%n.yml" };
        string[] lines = LinesOf(hidden);
        Assert.Contains("LoadCredential=tunnels.yml:/etc/tunnel2/a b%%n.yml", lines);
        Assert.Contains("ExecStart=/usr/bin/tunnel2 start --config ${CREDENTIALS_DIRECTORY}/tunnels.yml", lines);

        lines = LinesOf(hidden with { RunAs = "alice" });
        Assert.Contains("User=alice", lines);
        Assert.DoesNotContain("DynamicUser=yes", lines);
        Assert.Contains("ExecStart=/usr/bin/tunnel2 start --config \"/etc/tunnel2/a b%%n.yml\"", lines);
    }

    [Fact]
    public void A_user_s_unit_has_what_a_user_s_manager_can_do()
    {
        ServiceDefinition service = _service with { Id = _user, Token = "s3cret", Program = ["/usr/bin/dotnet", "/opt/t 2/tunnel2.dll"] };
        string[] lines = LinesOf(service);
        Assert.Contains(
            "ExecStart=/usr/bin/dotnet \"/opt/t 2/tunnel2.dll\" start --config /etc/tunnel2/tunnels.yml --token-file "
                + "/home/alice/.config/tunnel2/services/tunnel2-agent-web.token",
            lines);
        Assert.Contains("WantedBy=default.target", lines);
        string[] needRoot = ["DynamicUser=", "CapabilityBoundingSet=", "ProtectSystem=", "PrivateTmp=", "LoadCredential="];
        Assert.DoesNotContain(lines, line => needRoot.Any(word => line.StartsWith(word, StringComparison.Ordinal)));
        Assert.Equal(
            [
                "systemctl --user daemon-reload", "systemctl --user enable tunnel2-agent-web.service",
                "systemctl --user restart tunnel2-agent-web.service",
            ],
            _manager.Install(service).OfType<ServiceStep.Run>().Select(static step => step.ToString()));
        Assert.Contains("/home/alice/.config/systemd/user/tunnel2-agent-web.service", _manager.Install(service)
            .OfType<ServiceStep.Write>().Select(static step => step.Path));
    }

    [Theory]
    [InlineData("/a b", "\"/a b\"", "\"/a b\"")]
    [InlineData("/a\"b", "\"/a\\\"b\"", "\"/a\\\"b\"")]
    [InlineData("/a\\b", "\"/a\\\\b\"", "\"/a\\\\b\"")]
    [InlineData("/a%b", "/a%%b", "/a%%b")]
    [InlineData("/a$b", "\"/a$b\"", "\"/a$$b\"")]
    [InlineData("/a'b", "\"/a'b\"", "\"/a'b\"")]
    [InlineData(";", "\";\"", "\";\"")]
    [InlineData("", "\"\"", "\"\"")]
    [InlineData("/ä€😀", "\"/ä€😀\"", "\"/ä€😀\"")]
    public void Words_are_written_so_that_they_come_out_as_they_went_in(string text, string word, string argument)
    {
        Assert.Null(SystemdText.MistakeOf(text));
        Assert.Equal((word, argument), (SystemdText.Word(text), SystemdText.Argument(text)));
    }

    [Theory]
    [InlineData("/a\nExecStartPre=/bin/sh")]
    [InlineData("/a\rb")]
    [InlineData("/a\tb")]
    [InlineData("/a\0b")]
    [InlineData("/a\u0085b")]
    public void Texts_with_line_breaks_are_refused(string text)
    {
        Assert.NotNull(_manager.MistakeOf(_service with { ConfigFile = text }));
        Assert.NotNull(_manager.MistakeOf(_service with { Program = [text] }));
        Assert.NotNull(_manager.MistakeOf(_service with { Variables = [new("TUNNEL2_SERVER", text)] }));
        Assert.Null(_manager.MistakeOf(_service));
    }

    [Fact]
    public void Half_a_character_is_refused() => Assert.NotNull(SystemdText.MistakeOf("/a" + '\ud800' + "b"));

    [Theory]
    [InlineData("/etc/a\\")]
    [InlineData("/etc/a ")]
    public void A_path_whose_last_character_a_line_would_lose_is_refused_where_it_ends_a_line(string path)
    {
        Assert.NotNull(_manager.MistakeOf(_service with { ConfigFile = path, IsConfigReadable = false }));
        Assert.Null(_manager.MistakeOf(_service with { ConfigFile = path }));
    }

    [Fact]
    public void Variables_are_written_as_words()
    {
        string[] lines = LinesOf(_service with { Variables = [new("TUNNEL2_SERVER", "a%b c\"d"), new("TUNNEL2_SERVER_CA", "/x")] });
        Assert.Contains("Environment=\"TUNNEL2_SERVER=a%%b c\\\"d\"", lines);
        Assert.Contains("Environment=TUNNEL2_SERVER_CA=/x", lines);
    }

    [Fact]
    public void What_systemctl_shows_is_read()
    {
        Assert.Null(_manager.Read(1, "System has not been booted with systemd as init system (PID 1). Can't operate."));
        Assert.Equal(ServiceState.None, _manager.Read(0, "LoadState=not-found\nActiveState=inactive\n"));
        Assert.Equal(ServiceState.None, _manager.Read(0, ""));
        ServiceState running = _manager.Read(
            0,
            "MainPID=12\nNRestarts=3\nExecMainCode=0\nExecMainStatus=0\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
                + "StatusText=tunnels ready: 1 of 1 = all\n")!;
        Assert.Equal(
            new ServiceState(true, "active", true)
            {
                StartsByItself = true,
                ProcessId = 12,
                Restarts = 3,
                Message = "tunnels ready: 1 of 1 = all",
            },
            running);
        ServiceState failed = _manager.Read(
            0,
            "MainPID=0\nNRestarts=0\nExecMainCode=1\nExecMainStatus=2\nLoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n"
                + "StatusText=\n")!;
        Assert.Equal(new ServiceState(true, "failed", false) { StartsByItself = false, Restarts = 0, ExitCode = 2 }, failed);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Systemd_itself_finds_no_fault_in_a_unit(bool isOfUser)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && File.Exists("/usr/bin/systemd-analyze"), "systemd-analyze");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("tunnel2-test-");
        try
        {
            var service = new ServiceDefinition(
                isOfUser ? _user : _machine, ["/bin/sh", "/opt/a \"b\" %n $HOME \\ ;/tunnel2.dll"], "/etc/tunnel2/ä b%i.yml")
            {
                Token = isOfUser ? null : "t",
                Variables = [new("TUNNEL2_SERVER", "a \"b\" %n \\ $c")],
                IsConfigReadable = isOfUser,
            };
            string path = Path.Combine(folder.FullName, service.Id.Name + ".service");
            await File.WriteAllTextAsync(path, _manager.Describe(service), TestContext.Current.CancellationToken);
            using Process verify = Process.Start(new ProcessStartInfo(
                "systemd-analyze", [.. isOfUser ? new[] { "--user" } : [], "--man=no", "verify", path])
            {
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                Environment = { ["XDG_RUNTIME_DIR"] = folder.FullName },
            })!;
            Task<string> errors = verify.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
            string output = await verify.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken) + await errors;
            await verify.WaitForExitAsync(TestContext.Current.CancellationToken);

            // Units of the machine that it comes by have faults of their own.
            Assert.DoesNotContain(service.Id.Name, output, StringComparison.Ordinal);
            Assert.DoesNotContain("Failed to", output, StringComparison.Ordinal);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
