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
