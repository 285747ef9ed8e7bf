using System.Net;

namespace Tunnel2.LoadTests.Tests;

public sealed class CommandLineTests
{
    [Fact]
    public void Scenarios_and_options_may_stand_in_any_order()
    {
        var options = CommandLine.Parse(
            [
                "baseline", "--duration-scale", "0.1", "ramp", "--results", "here", "--url", "http://web.localhost:1234", "--host", "a",
                "--host", "b",
            ],
            out var error);

        Assert.Null(error);
        Assert.Equal(["baseline", "ramp"], options!.Scenarios);
        Assert.Equal((0.1, "here"), (options.DurationScale, options.Results));
        Assert.Equal(new IPEndPoint(IPAddress.Loopback, 1234), options.Target);
        Assert.Equal(["a", "b"], options.Hosts);
    }

    [Fact]
    public void The_host_is_by_default_that_of_the_url() =>
        Assert.Equal(["web.localhost:1234"], CommandLine.Parse(["baseline", "--url", "http://web.localhost:1234"], out _)!.Hosts);

    [Fact]
    public void An_unknown_scenario_is_answered_with_all_there_are()
    {
        Assert.Null(CommandLine.Parse(["base-line"], out var error));
        Assert.Contains("no scenario 'base-line'", error, StringComparison.Ordinal);
        Assert.Contains("uplink-loss", error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("baseline", "--duration-scale", "0")]
    [InlineData("baseline", "--duration-scale", "fast")]
    [InlineData("baseline", "--warm-up")]
    [InlineData("baseline", "--url", "https://127.0.0.1:1")]
    [InlineData("baseline", "--url", "http://127.0.0.1:1/path")]
    [InlineData("baseline", "--url", "http://127.0.0.1:1/?a")]
    [InlineData("baseline", "--url", "http://me:secret@127.0.0.1:1")]
    [InlineData("baseline", "--results", "")]
    [InlineData("baseline", "--host", "a")]
    [InlineData("baseline", "--url", "http://127.0.0.1:1", "--as-ancestor")]
    [InlineData("baseline", "--colour")]
    [InlineData]
    public void A_mistake_is_named(params string[] arguments)
    {
        Assert.Null(CommandLine.Parse(arguments, out var error));
        Assert.NotNull(error);
    }

    [Fact]
    public void Other_machines_are_loaded_only_when_it_is_said_that_they_are_meant()
    {
        Assert.Null(CommandLine.Parse(["baseline", "--url", "http://192.0.2.1:80"], out var error));
        Assert.Contains("--allow-remote", error, StringComparison.Ordinal);
        Assert.NotNull(CommandLine.Parse(["baseline", "--url", "http://192.0.2.1:80", "--allow-remote"], out _));
    }

    [Fact]
    public void The_ancestor_can_be_asked_for_and_so_can_the_acceptance()
    {
        var options = CommandLine.Parse(["acceptance", "--as-ancestor"], out _)!;

        Assert.True(options.AsAncestor);
        Assert.Equal(
            ["concurrent-10", "concurrent-10-as-ancestor", "concurrent-50", "concurrent-50-as-ancestor"],
            LoadProgram.Choose(options).Select(static scenario => scenario.Title).Where(
                static title => title.StartsWith("concurrent", StringComparison.Ordinal)));
        Assert.Equal(
            ["mixed", "uplink-loss"],
            LoadProgram.Choose(options with { Scenarios = ["mixed", "uplink-loss"] }).Select(static scenario => scenario.Title));
    }

    [Fact]
    public void Help_is_no_mistake()
    {
        Assert.Null(CommandLine.Parse(["--help"], out var error));
        Assert.Null(error);
    }
}
