using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class InterimTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(16)]
    [InlineData(17)]
    [InlineData(1000)]
    public Task At_most_sixteen_interim_answers_stand_before_the_final_one(int count) => AnswerAsync(count, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        for (var i = 0; i < 3; i++)
        {
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            for (var j = 0; j < Math.Min(count, 16); j++)
            {
                Assert.Equal("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", (await visitor.ReadHeadAsync()).Text);
            }

            var head = await visitor.ReadHeadAsync();
            Assert.Equal(200, head.StatusCode);
            Assert.Null(head["Link"]);
            Assert.Equal("ok", (await visitor.ReadBodyAsync(head)).Text());
        }
    });

    [Theory]
    [InlineData(1001)]
    [InlineData(10_000)]
    public Task A_flood_of_interim_answers_is_a_broken_backend_and_harms_no_other(int count) => AnswerAsync(count, async tunnel =>
    {
        for (var i = 0; i < 3; i++)
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal(502, head.StatusCode);
            Assert.Equal("backend-protocol", head["Tunnel2-Error"]);
        }

        Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
    });

    private static Task AnswerAsync(int interim, Func<TunnelFixture, Task> test) => TunnelFixture.RunAsync(
        async connection =>
        {
            while (true)
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(
                    string.Concat(Enumerable.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", interim))
                        + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        },
        test);
}
