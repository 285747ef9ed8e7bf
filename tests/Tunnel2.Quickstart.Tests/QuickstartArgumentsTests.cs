namespace Tunnel2.Quickstart.Tests;

public sealed class QuickstartArgumentsTests
{
    [Fact]
    public void Without_words_it_serves_the_sample()
    {
        var arguments = QuickstartArguments.Parse([]);

        Assert.Null(arguments.Mistake);
        Assert.Null(arguments.Backend);
        Assert.False(arguments.Once);
    }

    [Theory]
    [InlineData("3000", "http://127.0.0.1:3000")]
    [InlineData("box:3000", "http://box:3000")]
    [InlineData("https://box:8443", "https://box:8443")]
    public void A_service_can_be_a_port_an_address_or_a_url(string text, string backend) =>
        Assert.Equal(backend, QuickstartArguments.Parse([text]).Backend?.ToString());

    [Fact]
    public void Words_may_come_in_any_order()
    {
        Assert.Equal(QuickstartArguments.Parse(["3000", "--once"]), QuickstartArguments.Parse(["--once", "3000"]));
        Assert.True(QuickstartArguments.Parse(["3000", "--once"]).Once);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("70000")]
    [InlineData("-1")]
    [InlineData("--onec")]
    [InlineData("")]
    [InlineData("3000", "4000")]
    public void What_cannot_be_meant_is_a_mistake(params string[] args)
    {
        var arguments = QuickstartArguments.Parse(args);

        Assert.NotNull(arguments.Mistake);
        Assert.DoesNotContain('\n', arguments.Mistake);
    }

    [Fact]
    public void Help_wins_over_everything_before_it() => Assert.True(QuickstartArguments.Parse(["3000", "--help"]).WantsHelp);
}
