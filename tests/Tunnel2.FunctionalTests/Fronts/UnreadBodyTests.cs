using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// An answer over HTTP/2 that comes before the end of the request's body. Clients such as curl 7.88 show an error in place of the answer
/// when a reset follows it while they still send.
/// </summary>
[Trait("Engine", "each")]
public sealed class UnreadBodyTests
{
    private static (string Name, string Value)[] Unknown { get; } =
        Http2Visitor.Request(isTls: false, method: "POST", authority: "nothing-here.localhost");

    /// <summary>A name without an agent is answered at once.</summary>
    private static TunnelSetup Setup { get; } = new() { Settings = ["Timeouts:Park=off"] };

    [Fact]
    public Task No_reset_follows_where_the_rest_is_small_and_comes_soon() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        for (var i = 0; i < 20; i++)
        {
            var stream = await visitor.OpenAsync(Unknown);
            Assert.Equal(503, (await stream.ReadAnswerAsync()).Status);
            Assert.NotEmpty(await stream.ReadToEndAsync());
            await stream.WriteAsync(new byte[500], end: true);

            // What belongs to the first stream comes before the whole answer of the next one.
            Assert.Equal(503, (await visitor.ExchangeAsync(Unknown)).Status);
            Assert.False(stream.WasReset);
        }
    }, Setup);

    [Fact]
    public Task A_body_without_an_end_is_reset_without_an_error() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        var stream = await visitor.OpenAsync(Unknown);
        Assert.Equal(503, (await stream.ReadAnswerAsync()).Status);
        Assert.Equal(0u, await stream.WaitForResetAsync());
    }, Setup);

    [Fact]
    public Task A_body_that_is_longer_than_what_is_dropped_is_reset_without_an_error() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        var stream = await visitor.OpenAsync(Unknown);
        Assert.Equal(503, (await stream.ReadAnswerAsync()).Status);
        await stream.WriteAsync(new byte[65_000]);
        await stream.WriteAsync(new byte[10_000]);
        Assert.Equal(0u, await stream.WaitForResetAsync());
    }, Setup);
}
