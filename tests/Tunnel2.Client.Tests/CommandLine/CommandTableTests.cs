using Tunnel2.Client.CommandLine;

namespace Tunnel2.Client.Tests.CommandLine;

public sealed class CommandTableTests
{
    [Fact]
    public void Every_row_is_complete_and_no_two_are_the_same()
    {
        Assert.Equal(CommandTable.All.Count, CommandTable.All.DistinctBy(static command => command.Name).Count());
        foreach (CommandSpec command in CommandTable.All)
        {
            Assert.True(command.Examples.Length >= 2, command.Name);
            Assert.All(command.Examples, example => Assert.Contains($"tunnel2 {command.Name}", example, StringComparison.Ordinal));
            string[] names = [.. command.AllOptions.SelectMany(static option => option.Names)];
            Assert.Equal(names.Distinct(), names);
            Assert.Equal(command.Name != "help", names.Contains("--json"));
            Assert.All(command.ExitCodes, static code => Assert.Contains(CommandTable.ExitCodes, known => known.Code == code));
            Assert.True(command.Text.Length == 0 || command.Text.EndsWith('\n'), command.Name);
        }
    }

    [Fact]
    public void Every_example_is_a_command_line_that_is_understood()
    {
        foreach (string example in CommandTable.All.SelectMany(static command => command.Examples))
        {
            string words = example[(example.IndexOf("tunnel2 ", StringComparison.Ordinal) + "tunnel2 ".Length)..];
            words = words.Split(" && ")[0].Split("; ")[0].Split(" > ")[0].TrimEnd(')');
            ParsedLine line = CommandLineReader.Read(words.Split(' '));
            Assert.NotNull(line.Command);
            Assert.True(line.Mistakes.Count == 0, $"{example}: {string.Join("; ", line.Mistakes)}");
        }
    }

    [Theory]
    [InlineData("--token s3cret http 3000")]
    [InlineData("--tokne s3cret http 3000")]
    [InlineData("login --tokne s3cret")]
    [InlineData("login host --token s3cret --token s3cret")]
    [InlineData("top --tokne=s3cret")]
    [InlineData("config check --tokne:s3cret")]
    public void A_mistake_never_shows_the_word_after_a_flag(string words) =>
        Assert.DoesNotContain("s3cret", string.Join(' ', CommandLineReader.Read(words.Split(' ')).Mistakes), StringComparison.Ordinal);

    [Fact]
    public void Words_of_any_number_and_length_are_sorted()
    {
        string[] words = [new string('x', 1_000_000), .. Enumerable.Repeat("--" + new string('y', 1000), 200)];
        Assert.Equal(200, CommandLineReader.Read(words).Mistakes.Count);
    }
}
