namespace Tunnel2.Client.Tests.Commands;

public sealed class ConfigCommandTests : IDisposable
{
    private const string Good = "server: h:1\ntoken: s3cret\nproxy: http://me:s3cret@proxy:8080\ntunnels:\n- name: web\n  upstream: 3000\n";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private string? _editor;

    private string FileName => Path.Combine(_folder.FullName, "tunnels.yml");

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    private async Task<int> RunAsync(string words, string? text = null, string? answers = null)
    {
        if (text is not null)
        {
            await File.WriteAllTextAsync(FileName, text, TestContext.Current.CancellationToken);
        }

        using StringReader? reader = answers is null ? null : new StringReader(answers);
        return await AgentCli.RunAsync(
            [.. words.Split(' '), FileName],
            name => name switch
            {
                "EDITOR" => _editor,
                "TUNNEL2_INSPECT_TOKEN" => "s3cret-s3cret-s3cret",
                "TUNNEL2_UPLINKS" => "3",
                _ => null,
            },
            static _ => throw new InvalidOperationException("must not run"), _output, _error, CancellationToken.None,
            openInput: () => reader);
    }

    [Fact]
    public async Task Check_prints_all_mistakes_at_once_with_their_lines()
    {
        Assert.Equal(2, await RunAsync("config check", "srver: s3cret\ntunnels:\n- upstream: 70000\n- name: a_\n"));
        string[] lines = _error.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(4, lines.Length);
        Assert.All(
            new[] { ":1: 'srver' is not a key", ":3: upstream: '70000'", ":4: name: 'a_'", ":4: the tunnel lacks its upstream" },
            part => Assert.Contains(part, _error.ToString(), StringComparison.Ordinal));
        Assert.DoesNotContain("s3cret", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Check_says_that_a_file_is_right_and_what_is_not_there()
    {
        Assert.Equal(0, await RunAsync("config check", Good));
        Assert.EndsWith("tunnels.yml: no mistakes, tunnels: 1\n", _output.ToString(), StringComparison.Ordinal);
        File.Delete(FileName);
        Assert.Equal(2, await RunAsync("config check"));
        Assert.Contains("cannot be read", _error.ToString(), StringComparison.Ordinal);
        Directory.CreateDirectory(FileName);
        Assert.Equal(2, await RunAsync("config check"));
        Assert.Contains("tunnels.yml: cannot be read: it is a folder, not a file.\n", _error.ToString(), StringComparison.Ordinal);
        Assert.Equal(2, await RunAsync("config check --config other.yml"));
        Assert.Contains("--config: cannot go with a FILE", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Check_for_programs()
    {
        Assert.Equal(2, await RunAsync("config check --json", "tunnels:\n- upstream: 70000\n"));
        using var json = System.Text.Json.JsonDocument.Parse(_output.ToString());
        Assert.False(json.RootElement.GetProperty("ok").GetBoolean());
        Assert.Equal(2, json.RootElement.GetProperty("mistakes")[0].GetProperty("line").GetInt32());
    }

    [Theory]
    [InlineData("config show")]
    [InlineData("config show --json")]
    public async Task Show_masks_every_secret(string words)
    {
        Assert.Equal(0, await RunAsync(words, Good));
        string shown = _output.ToString();
        Assert.DoesNotContain("s3cret", shown, StringComparison.Ordinal);
        Assert.All(["(hidden)", "h:1", "web", "3000", "proxy:8080"], word => Assert.Contains(word, shown, StringComparison.Ordinal));
        if (!words.EndsWith("--json", StringComparison.Ordinal))
        {
            Assert.Matches("uplinks: +3 +# TUNNEL2_UPLINKS\n", shown);
            Assert.Matches("name: +web +# .*tunnels.yml:5\n", shown);
        }
    }

    [Fact]
    public async Task Edit_takes_a_copy_over_that_is_right()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The editor is a shell command.");
        _editor = "sed -i s/3000/3001/";
        Assert.Equal(0, await RunAsync("config edit --json", Good));
        Assert.EndsWith(",\"changed\":true}\n", _output.ToString(), StringComparison.Ordinal);
        string text = await File.ReadAllTextAsync(FileName, TestContext.Current.CancellationToken);
        Assert.Contains("upstream: 3001", text, StringComparison.Ordinal);
        Assert.Single(_folder.GetFiles());
    }

    [Fact]
    public async Task Edit_leaves_the_file_alone_while_the_copy_is_wrong()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The editor is a shell command.");
        _editor = "sed -i s/3000/3000000/";
        Assert.Equal(2, await RunAsync("config edit", Good, "y\nn\n"));
        Assert.Equal(Good, await File.ReadAllTextAsync(FileName, TestContext.Current.CancellationToken));
        Assert.Contains(":6: upstream: '3000000' is not a port", _error.ToString(), StringComparison.Ordinal);
        Assert.Single(_folder.GetFiles());

        // As long as no other command would read it.
        _editor = """sh -c 'head -c 5000000 /dev/zero | tr "\0" "#" >> "$0"'""";
        Assert.Equal(2, await RunAsync("config edit", Good, "n\n"));
        Assert.Equal(Good, await File.ReadAllTextAsync(FileName, TestContext.Current.CancellationToken));
        Assert.Contains("has more than", _error.ToString(), StringComparison.Ordinal);

        _editor = "false";
        Assert.Equal(1, await RunAsync("config edit"));
        _editor = "true";
        Assert.Equal(0, await RunAsync("config edit"));
        Assert.Contains("Nothing has changed.", _output.ToString(), StringComparison.Ordinal);
    }

    /// <summary>As the package of Debian has it: root's, and readable for the group that the agent runs with.</summary>
    [Fact]
    public async Task Edit_leaves_the_file_its_owner_its_group_and_its_mode()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && Environment.UserName == "root", "Only root gives files to others.");
        await File.WriteAllTextAsync(FileName, Good, TestContext.Current.CancellationToken);
        await ShellAsync($"chmod 640 {FileName}; chown 65534:65533 {FileName}");
        _editor = "sed -i s/3000/3001/";
        Assert.Equal(0, await RunAsync("config edit"));
        Assert.Equal("65534:65533 640\n", await ShellAsync($"stat -c '%u:%g %a' {FileName}"));
        Assert.Contains(
            "upstream: 3001", await File.ReadAllTextAsync(FileName, TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Edit_keeps_what_was_written_where_the_file_was_changed_by_another()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The editor is a shell command.");
        _editor = $"""sh -c 'echo "# another" >> {FileName}; sed -i s/3000/3001/ "$0"'""";
        Assert.Equal(1, await RunAsync("config edit", Good));
        string text = await File.ReadAllTextAsync(FileName, TestContext.Current.CancellationToken);
        Assert.EndsWith("# another\n", text, StringComparison.Ordinal);
        Assert.Contains($"is in {FileName}.edited", _error.ToString(), StringComparison.Ordinal);
        Assert.Contains(
            "upstream: 3001", await File.ReadAllTextAsync(FileName + ".edited", TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
        Assert.Equal(2, _folder.GetFiles().Length);
    }

    private static async Task<string> ShellAsync(string command)
    {
        using var shell = System.Diagnostics.Process.Start(
            new System.Diagnostics.ProcessStartInfo("/bin/sh", ["-c", command]) { RedirectStandardOutput = true })!;
        string output = await shell.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await shell.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.Equal(0, shell.ExitCode);
        return output;
    }
}
