using System.Text.Json;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class TokenCommandTests
{
    [Fact]
    public void What_it_prints_are_settings_that_hold()
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(0, TokenCommand.Run(["token", "create", "--name", "web", "--tier", "pro"], output, TextWriter.Null));
        const string Begin = "  Tunnel2__";
        var settings = output.ToString()
            .Split('\n')
            .Where(static line => line.StartsWith(Begin, StringComparison.Ordinal))
            .Select(static line => line[Begin.Length..].Replace("__", ":", StringComparison.Ordinal));
        Assert.Equal(1, SettingsFixture.LoadValid([.. settings]).Agents.Count);
    }

    [Theory]
    [InlineData("--json", "--name", "web", "--tier", "pro")]
    [InlineData("--name", "web", "--tier", "pro", "--json")]
    public void For_programs_it_prints_token_and_settings_as_JSON(params string[] words)
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(0, TokenCommand.Run(["token", "create", .. words], output, TextWriter.Null));
        using var json = JsonDocument.Parse(output.ToString());
        var token = json.RootElement.GetProperty("token").GetString()!;
        var settings = json.RootElement.GetProperty("settings").EnumerateObject().Select(static one => $"{one.Name}={one.Value}").ToList();
        Assert.Equal(
            [
                $"Tunnel2__Agents__web__TokenHash={TokenHash.FromToken(token).ToSetting()}", "Tunnel2__Agents__web__Names=web",
                "Tunnel2__Agents__web__Tier=pro",
            ],
            settings);
    }

    [Theory]
    [InlineData("--name", "a_b")]
    [InlineData("--name", "")]
    [InlineData("--name", "a", "--name", "b")]
    [InlineData("--name", "a", "--tier", "pro", "--tier", "free")]
    [InlineData("--name", "web", "--tier", "")]
    [InlineData("--name", "web", "--tier", "a b:c")]
    [InlineData("--name", "web", "--tier")]
    [InlineData("--tier", "pro")]
    [InlineData("--colour", "red")]
    [InlineData("--name", "web", "--json", "--json")]
    [InlineData("--name", "web", "--json", "yes")]
    [InlineData("--name", "web", "--names", "a")]
    public void A_mistake_is_one_line_the_usage_and_2(params string[] words)
    {
        using var error = new StringWriter { NewLine = "\n" };
        Assert.Equal(2, TokenCommand.Run(["token", "create", .. words], TextWriter.Null, error));
        Assert.Matches("^tunnel2-entry: [^\n]+\nusage: [^\n]+\n$", error.ToString());
    }
}
