using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendMisunderstandingsTests
{
    private static readonly BackendFailure _closed = BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse);

    private readonly RecordedRequests _events = new(wantsRequests: false);

    [Fact]
    public async Task What_a_service_speaks_is_said_to_each_visitor_and_to_the_user_once()
    {
        await using var service = SilentService.Start(speaksTls: true);
        var misunderstandings = Make(service.Port);
        for (var i = 0; i < 3; i++)
        {
            var failure = await misunderstandings.ExplainAsync(_closed, closedNew: true, greeting: null);
            Assert.Equal(BackendFailure.Protocol(StreamResetDetail.SpeaksTls), failure);
        }

        var target = $"127.0.0.1:{service.Port}";
        Assert.Equal(
            [
                $"http://{target} speaks TLS, and the agent speaks plain HTTP to it: start the agent with https://{target}. Until then "
                    + $"visitors get 502.",
            ],
            _events.Unreachable);
    }

    [Fact]
    public async Task A_close_that_has_its_reasons_is_not_looked_into()
    {
        await using var service = SilentService.Start(speaksTls: true);
        var failure = await Make(service.Port).ExplainAsync(_closed, closedNew: false, greeting: null);
        Assert.Equal(BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse), failure);
        Assert.Equal(0, service.ConnectionsAccepted.Value);
        Assert.Empty(_events.Unreachable);
    }

    [Fact]
    public async Task Another_answer_is_news_to_the_user_and_one_without_words_is_none()
    {
        using var port = new RefusedPort();
        var misunderstandings = Make(port.Port);
        var malformed = BackendFailure.Protocol(StreamResetDetail.MalformedHead);
        foreach (var greeting in new[] { null, "SSH-2.0", "SSH-2.0", null, "220 mail", "SSH-2.0" })
        {
            Assert.Equal(malformed, await misunderstandings.ExplainAsync(malformed, closedNew: false, greeting));
        }

        Assert.Equal(
            ["SSH-2.0", "220 mail", "SSH-2.0"],
            _events.Unreachable.Select(static words => words[(words.IndexOf('\'') + 1)..words.LastIndexOf('\'')]));
    }

    private BackendMisunderstandings Make(int port)
    {
        var target = new BackendTarget(false, "127.0.0.1", port);
        return new BackendMisunderstandings(target, new BackendProbe(target, new BufferPool(), new ManualTimeProvider()), _events);
    }
}
