using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.Requests;

public sealed class ForwardedRequestTests
{
    [Theory]
    [InlineData(nameof(ForwardPhase.Upload), nameof(ForwardPhase.Head))]
    [InlineData(nameof(ForwardPhase.Body), nameof(ForwardPhase.Body))]
    [InlineData(nameof(ForwardPhase.Head), nameof(ForwardPhase.Head))]
    [InlineData(nameof(ForwardPhase.Upgraded), nameof(ForwardPhase.Upgraded))]
    public void A_request_that_was_sent_waits_for_the_head_unless_the_answer_has_begun(string before, string after)
    {
        var request = new ForwardedRequest { Phase = Enum.Parse<ForwardPhase>(before) };
        request.RequestSent();
        Assert.Equal(after, request.Phase.ToString());
    }

    [Fact]
    public void A_request_without_a_stream_cannot_be_cut()
    {
        var request = new ForwardedRequest();
        request.Begin(TimeProvider.System);
        request.Cut(request.Use, ProxyError.BackendTimeout, StreamResetReason.BackendTimeout);
        Assert.Null(request.CutBy);
    }

    [Fact]
    public async Task A_wait_for_the_visitor_ends_after_the_cut_that_is_under_way()
    {
        const int Rounds = 50;
        var (served, late) = (0, 0);
        using var entered = new SemaphoreSlim(0);
        using var cut = new SemaphoreSlim(0);
        var exchange = new SampleExchange
        {
            OnAbort = () =>
            {
                var before = Volatile.Read(ref served);
                entered.Release();
                for (var i = 0; i < 100; i++)
                {
                    Thread.Yield();
                }

                // The exchange would be that of its next request by now.
                late += Volatile.Read(ref served) == before ? 0 : 1;
            },
        };
        var request = new ForwardedRequest();
        var cutting = Task.Run(async () =>
        {
            for (var i = 0; i < Rounds; i++)
            {
                await cut.WaitAsync();
                request.Cut(request.Use, ProxyError.BodyIdleTimeout, StreamResetReason.BackendTimeout);
            }
        });
        for (var i = 0; i < Rounds; i++)
        {
            request.Begin(TimeProvider.System);
            request.BeginVisitorWait(exchange);
            cut.Release();
            await entered.WaitAsync(TestContext.Current.CancellationToken);
            request.EndVisitorWait();
            Volatile.Write(ref served, served + 1);
        }

        await cutting;
        Assert.Equal(0, late);
    }

    [Fact]
    public void A_cut_that_ends_the_wait_at_once_does_not_wait_for_itself()
    {
        var request = new ForwardedRequest();
        request.Begin(TimeProvider.System);
        request.BeginVisitorWait(new SampleExchange { OnAbort = request.EndVisitorWait });
        request.Cut(request.Use, ProxyError.BodyIdleTimeout, StreamResetReason.BackendTimeout);
        Assert.False(request.WaitsForVisitor);
    }

    [Fact]
    public void The_next_request_knows_nothing_of_the_one_before()
    {
        var request = new ForwardedRequest
        {
            Phase = ForwardPhase.Body,
            BytesReceived = 1,
            BytesSent = 2,
            ResponseLeft = 3,
            Status = 200,
            Continue = new ContinueTurn(),
        };
        request.Begin(TimeProvider.System);
        Assert.Equal(
            (ForwardPhase.Idle, 0L, 0L, ResponseFacts.NoLength, 0, null),
            (request.Phase, request.BytesReceived, request.BytesSent, request.ResponseLeft, request.Status, request.Continue));
    }

    [Fact]
    public void A_note_is_found_for_the_request_that_it_was_taken_for_and_used_again_by_the_next()
    {
        var request = new ForwardedRequest();
        request.Begin(TimeProvider.System);
        Assert.Null(request.NoteOf<OneNote>());
        var one = request.UseNote<OneNote>();
        Assert.Same(one, request.NoteOf<OneNote>());
        Assert.Null(request.NoteOf<OtherNote>());
        var other = request.UseNote<OtherNote>();
        Assert.Same(one, request.UseNote<OneNote>());

        request.Begin(TimeProvider.System);
        Assert.Null(request.NoteOf<OneNote>());
        Assert.Same(one, request.UseNote<OneNote>());
        Assert.Null(request.NoteOf<OtherNote>());
        Assert.Same(other, request.UseNote<OtherNote>());
    }

    private sealed class OneNote : RequestNote;

    private sealed class OtherNote : RequestNote;
}
