using System.Diagnostics;
using Tunnel2.Client.CommandLine;

namespace Tunnel2.Client.Tests.CommandLine;

/// <summary>The scripts, run by the shells themselves where the machine has them.</summary>
public sealed class CompletionScriptTests
{
    [Theory]
    [InlineData("tunnel2 ht", "http https")]
    [InlineData("tunnel2 config ", "check show edit")]
    [InlineData("tunnel2 config sh", "show")]
    [InlineData("tunnel2 config show --js", "--json")]
    [InlineData("tunnel2 http --inspect-m", "--inspect-mask --inspect-megabytes")]
    [InlineData("tunnel2 http 3000 --uplink ", "auto direct wss")]
    [InlineData("tunnel2 http 3000 --uplink d", "direct")]
    [InlineData("tunnel2 http 3000 --uplink = d", "direct")]
    [InlineData("tunnel2 http 3000 --uplink =", "auto direct wss")]
    [InlineData("tunnel2 --json http --verb", "--verbose")]
    [InlineData("tunnel2 completion ", "bash zsh fish powershell")]
    [InlineData("tunnel2 top --window 1", "1s 10s 1m")]
    [InlineData("tunnel2 http --remote", "")]
    [InlineData("tunnel2 tcp --remote", "--remote-port")]
    [InlineData("tunnel2 http 3000 --name ", "")]
    [InlineData("tunnel2 help conf", "config")]
    [InlineData("tunnel2 --ver", "--version")]
    public async Task Bash_completes(string line, string expected)
    {
        Assert.SkipUnless(File.Exists("/bin/bash"), "There is no bash.");
        string[] words = line.Split(' ');
        string script = CompletionScript.For("bash")
            + $"\nCOMP_WORDS=({string.Join(' ', words.Select(static word => $"'{word}'"))})\nCOMP_CWORD={words.Length - 1}\n"
            + "_tunnel2\necho \"${COMPREPLY[*]}\"\n";
        var (output, error) = await RunAsync("/bin/bash", "--norc", script);
        Assert.Equal("", error);
        Assert.Equal(expected, output.Trim());
    }

    [Fact]
    public async Task Bash_completes_names_of_files_with_spaces()
    {
        Assert.SkipUnless(File.Exists("/bin/bash"), "There is no bash.");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("tunnel2-test-");
        try
        {
            await File.WriteAllTextAsync(Path.Combine(folder.FullName, "my tunnels.yml"), "", TestContext.Current.CancellationToken);
            string script = CompletionScript.For("bash")
                + $"\nCOMP_WORDS=(tunnel2 start --config '{folder.FullName}/my')\nCOMP_CWORD=3\n_tunnel2\n"
                + "echo \"${#COMPREPLY[@]} ${COMPREPLY[0]}\"\n";
            var (output, error) = await RunAsync("/bin/bash", "--norc", script);
            Assert.Equal(("", $"1 {folder.FullName}/my tunnels.yml"), (error, output.Trim()));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Theory]
    [InlineData("tunnel2 ht", "http https")]
    [InlineData("tunnel2 --ver", "--version")]
    [InlineData("tunnel2 config sh", "show")]
    [InlineData("tunnel2 config show --js", "--json")]
    [InlineData("tunnel2 http 3000 --uplink d", "direct")]
    [InlineData("tunnel2 http 3000 --uplink=d", "--uplink=direct")]
    [InlineData("tunnel2 http --remote", "")]
    [InlineData("tunnel2 completion z", "zsh")]
    public async Task Fish_completes(string line, string expected)
    {
        Assert.SkipUnless(File.Exists("/usr/bin/fish"), "There is no fish.");
        string script = CompletionScript.For("fish") + $"\ncomplete -C '{line}' | string replace -r '\\t.*' '' | string join ' '\n";
        var (output, error) = await RunAsync("/usr/bin/fish", "--no-config", script);
        Assert.Equal(("", expected), (error, output.Trim()));
    }

    /// <summary>The shell itself compares what it is offered with the beginning of the word.</summary>
    [Theory]
    [InlineData("tunnel2 ht", "http https")]
    [InlineData("tunnel2 --ver", "--version")]
    [InlineData("tunnel2 config sh", "show")]
    [InlineData("tunnel2 config show --js", "--json")]
    [InlineData("tunnel2 http 3000 --uplink d", "direct")]
    [InlineData("tunnel2 http 3000 --uplink=d", "direct")]
    [InlineData("tunnel2 http --remote", "")]
    [InlineData("tunnel2 start --config=x", "files")]
    public async Task Zsh_completes(string line, string expected)
    {
        Assert.SkipUnless(File.Exists("/usr/bin/zsh"), "There is no zsh.");
        const string Shell =
            """
            compdef() { : }
            compset() { words[CURRENT]="${words[CURRENT]#*=}" }
            compadd() { shift; offered+=("$@") }
            _describe() { offered+=("${(@)${(@P)2}%%:*}") }
            _files() { offered+=("${words[CURRENT]}files") }

            """;
        string script = Shell + CompletionScript.For("zsh")
            + $"\nwords=({string.Join(' ', line.Split(' ').Select(static word => $"'{word}'"))})\nCURRENT=$#words\noffered=()\n_tunnel2\n"
            + "print -r -- ${(M)offered:#${words[CURRENT]}*}\n";
        var (output, error) = await RunAsync("/usr/bin/zsh", "-f", script);
        Assert.Equal(("", expected), (error, output.Trim().Replace("xfiles", "files", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("zsh", "/usr/bin/zsh")]
    [InlineData("fish", "/usr/bin/fish")]
    public async Task Other_shells_read_their_scripts(string shell, string program)
    {
        string script = CompletionScript.For(shell)!;
        Assert.All(CommandTable.Words, word => Assert.Contains(word, script, StringComparison.Ordinal));
        Assert.SkipUnless(File.Exists(program), $"There is no {shell}.");
        var (_, error) = await RunAsync(program, "-n", script);
        Assert.Equal("", error);
    }

    [Fact]
    public void Every_command_and_flag_is_in_every_script()
    {
        foreach (string shell in CommandTable.Find("completion")!.ArgumentChoices)
        {
            string script = CompletionScript.For(shell)!;
            Assert.All(CommandTable.All, command => Assert.Contains(command.Word ?? command.Name, script, StringComparison.Ordinal));
            Assert.All(
                CommandTable.All.SelectMany(static command => command.ShownOptions),
                option => Assert.Contains(shell == "fish" ? $"-l {option.Flag[2..]}" : option.Flag, script, StringComparison.Ordinal));
        }

        Assert.Null(CompletionScript.For("sh"));
    }

    private static async Task<(string Output, string Error)> RunAsync(string program, string flag, string script)
    {
        string file = Path.GetTempFileName();
        await File.WriteAllTextAsync(file, script, TestContext.Current.CancellationToken);
        var start = new ProcessStartInfo(program)
        {
            ArgumentList = { flag, file },
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        Task<string> error = process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        File.Delete(file);
        return (await output, await error);
    }
}
