using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Engine;

public class EngineVariablesTests
{
    [Theory]
    [InlineData(null, EngineMode.Auto)]
    [InlineData("", EngineMode.Auto)]
    [InlineData("epoll", EngineMode.Epoll)]
    [InlineData("Portable", EngineMode.Portable)]
    [InlineData("warp", EngineMode.Auto)]
    public void The_variable_chooses(string? value, EngineMode expected) =>
        Assert.Equal(expected, EngineVariables.Read(name => name == "TUNNEL2_ENGINE" ? value : null));

    [Theory]
    [InlineData(null, null)]
    [InlineData("", "")]
    [InlineData("auto", "")]
    [InlineData("epoll", null)]
    public void What_is_available_is_no_mistake(string? engine, string? transport) => Assert.Empty(Find(engine, transport));

    [Fact]
    public void All_mistakes_are_reported_at_once() => Assert.Equal(
        [
            "TUNNEL2_ENGINE: is not an engine any more; epoll is its name now",
            "TUNNEL2_TRANSPORT: is not a variable any more; use TUNNEL2_ENGINE (auto, epoll or portable)",
        ],
        Find("event-loop", "epoll"));

    [Fact]
    public void Epoll_where_it_is_not_available_is_a_mistake_and_auto_is_none()
    {
        Assert.Equal(
            ["TUNNEL2_ENGINE: epoll is not available here, it needs Linux on x64 or arm64; use auto or portable"],
            Find("epoll", null, hasEpoll: false));
        Assert.Empty(Find("auto", null, hasEpoll: false));
    }

    [Fact]
    public void An_engine_of_the_build_is_known_to_that_build_only()
    {
        Assert.Empty(Find("pipelines", null, builtIn: "pipelines"));
        Assert.Equal(["TUNNEL2_ENGINE: is not an engine; use auto, epoll or portable"], Find("pipelines", null));
    }

    private static IEnumerable<string> Find(
        string? engine, string? transport, bool hasEpoll = true, string? builtIn = null) => EngineVariables.FindMistakes(
        name => name switch
        {
            "TUNNEL2_ENGINE" => engine,
            "TUNNEL2_TRANSPORT" => transport,
            _ => null,
        },
        hasEpoll,
        builtIn);
}
