using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Http2Backends;

/// <summary>The code with which a visitor resets its stream is the one that the service gets.</summary>
[Trait("Engine", "each")]
public sealed class ResetCodeTests
{
    /// <summary>Each code of RFC 9113, an unknown one, and one without room on the uplink: INTERNAL_ERROR then.</summary>
    public static TheoryData<uint, uint> Codes
    {
        get
        {
            var codes = new TheoryData<uint, uint> { { 200, 200 }, { 0x1_0000, 2 } };
            for (uint code = 0; code <= 13; code++)
            {
                codes.Add(code, code);
            }

            return codes;
        }
    }

    [Theory]
    [MemberData(nameof(Codes))]
    public async Task While_the_service_thinks(uint sent, uint expected) =>
        Assert.Equal(expected, await CodeAsync(sent, method: "GET", static (_, _) => Task.CompletedTask));

    [Theory]
    [MemberData(nameof(Codes))]
    public async Task While_the_body_goes_up(uint sent, uint expected) =>
        Assert.Equal(expected, await CodeAsync(sent, method: "POST", static (_, _) => Task.CompletedTask));

    [Theory]
    [MemberData(nameof(Codes))]
    public async Task While_the_answer_comes(uint sent, uint expected) =>
        Assert.Equal(expected, await CodeAsync(
            sent, method: "GET", static (service, id) => service.RespondAsync(id, end: false, (":status", "200"))));

    [Fact]
    public async Task A_visitor_whose_connection_breaks_is_a_cancel()
    {
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        var arrived = new WaitSignal("the request arrived");
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                arrived.Set();
                code.SetResult(await service.ReadResetAsync(request.Id));
            },
            async (visitor, _) =>
            {
                await visitor.OpenAsync(Http2Visitor.Request(isTls: false), end: true);
                await arrived.WaitAsync();
                await visitor.DisposeAsync();
                Assert.Equal(8u, await code.Task.WaitAsync(AsyncCounter.DefaultTimeout));
            });
    }

    private static async Task<uint> CodeAsync(uint sent, string method, Func<Http2ServiceConnection, int, Task> answer)
    {
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        var arrived = new WaitSignal("the request arrived");
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                await answer(service, request.Id);
                arrived.Set();
                code.SetResult(await service.ReadResetAsync(request.Id));
                await service.AnswerAsync((await service.ReadRequestAsync()).Id);
            },
            async (visitor, tunnel) =>
            {
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, method: method), end: method == "GET");
                await arrived.WaitAsync();
                await stream.ResetAsync(sent);
                await code.Task.WaitAsync(AsyncCounter.DefaultTimeout);
                Assert.Equal("well", (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Body);
                Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
            });
        return await code.Task;
    }
}
