using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class TokenFileTests : IDisposable
{
    private readonly string _path = Path.GetTempFileName();

    public void Dispose() => File.Delete(_path);

    private CommandLineResult Parse(string line, params (string Name, string Value)[] variables) => new AgentCommandLine().Parse(
        line.Replace("FILE", _path, StringComparison.Ordinal).Split(' '),
        name => variables.FirstOrDefault(variable => variable.Name == name).Value);

    [Theory]
    [InlineData("s3cret")]
    [InlineData("s3cret\n")]
    [InlineData("s3cret\r\n")]
    public void The_only_line_is_the_token(string text)
    {
        File.WriteAllText(_path, text);
        Assert.Equal("s3cret", Parse("http 3000 --token-file FILE").Tunnels!.Single().Token);
        Assert.Equal("s3cret", Parse("http 3000", ("TUNNEL2_TOKEN_FILE", _path)).Tunnels!.Single().Token);
    }

    [Theory]
    [InlineData("")]
    [InlineData("\n")]
    [InlineData("s3cret\nmore")]
    [InlineData("s3cret more")]
    [InlineData("\u00e4s3cret")]
    [InlineData("s3cret\0")]
    public void A_file_with_anything_else_is_refused_and_not_shown(string text)
    {
        File.WriteAllText(_path, text);
        string? mistake = Parse("http 3000 --token-file FILE").Mistake;
        Assert.StartsWith("--token-file: has no token", mistake, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", mistake, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/nowhere/token")]
    [InlineData("/")]
    public void A_file_that_cannot_be_read_is_refused(string path) => Assert.Contains(
        "--token-file: cannot be read", Parse($"http 3000 --token-file {path}").Mistake, StringComparison.Ordinal);

    [Fact]
    public void A_file_without_end_is_not_read_to_its_end()
    {
        Assert.SkipUnless(File.Exists("/dev/zero"), "/dev/zero");
        Assert.Contains("--token-file: has no token", Parse("http 3000 --token-file /dev/zero").Mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void A_flag_wins_over_the_environment_in_either_way_and_both_at_once_are_refused()
    {
        File.WriteAllText(_path, "s3cret");
        Assert.Equal("flag", Parse("http 3000 --token flag", ("TUNNEL2_TOKEN_FILE", _path)).Tunnels!.Single().Token);
        Assert.Equal("s3cret", Parse("http 3000 --token-file FILE", ("TUNNEL2_TOKEN", "variable")).Tunnels!.Single().Token);
        Assert.Contains(
            "--token-file: cannot go with --token", Parse("http 3000 --token-file FILE --token t").Mistake, StringComparison.Ordinal);
        Assert.Contains(
            "TUNNEL2_TOKEN_FILE: cannot go with TUNNEL2_TOKEN; give one of them",
            Parse("http 3000", ("TUNNEL2_TOKEN", "t"), ("TUNNEL2_TOKEN_FILE", _path)).Mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void In_a_file_of_tunnels_the_tunnel_s_own_wins_over_the_top_s()
    {
        File.WriteAllText(_path, "s3cret");
        TunnelFileLoad load = Load($"token: top\ntunnels:\n- name: a\n  upstream: 1\n  token-file: {_path}\n- name: b\n  upstream: 2\n");
        Assert.Empty(load.Mistakes);
        Assert.Equal(["s3cret", "top"], load.Tunnels.Select(static tunnel => tunnel.Options.Token));
        load = Load($"token-file: {_path}\ntunnels:\n- upstream: 1\n  token: own\n- upstream: 2\n");
        Assert.Equal(["own", "s3cret"], load.Tunnels.Select(static tunnel => tunnel.Options.Token));
        Assert.NotEmpty(Load($"tunnels:\n- upstream: 1\n  token: own\n  token-file: {_path}\n").Mistakes);
    }

    private static TunnelFileLoad Load(string text) => TunnelFileLoader.Load("t.yml", text, new AgentOptionsInput(), static _ => null);
}
