using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Tests.Messages;

public sealed class EventStreamReaderTests
{
    [Theory]
    [InlineData("\n", 1)]
    [InlineData("\r\n", 1)]
    [InlineData("\r", 2)]
    [InlineData("\r\n", 1000)]
    public void Events_are_found_with_any_line_end_and_in_any_split(string line, int piece)
    {
        var capture = Sample.Asked(Sample.Store());
        capture.OnResponseHead("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"u8, 200);
        var text = ": comment||data: one||event: tick|data: two|data: three|id: 5|||data: cut".Replace("|", line, StringComparison.Ordinal);
        foreach (var part in Sample.Bytes(text).Chunk(piece))
        {
            capture.OnResponseBody(part);
        }

        capture.OnEnded(null, null);
        var events = capture.Messages.Kept.Select(message => MessageView.Of(message, null)).Select(one => $"{one.Event}: {one.Text}");
        Assert.Equal(["message: ", "message: one", "tick: two\nthree"], events);
        Assert.All(capture.Messages.Kept, message => Assert.Equal((MessageKind.Event, false), (message.Kind, message.FromVisitor)));
    }

    [Theory]
    [InlineData("Content-Type: Text/Event-Stream")]
    [InlineData("content-type:\tTEXT/EVENT-STREAM ; charset=UTF-8")]
    [InlineData("Content-Type: text/event-stream\r\nContent-Encoding: Identity")]
    [InlineData("Content-Type: text/event-stream\r\nContent-Encoding: none")]
    [InlineData("Content-Type: text/event-stream\r\nContent-Encoding: ")]
    public void The_type_is_found_in_any_case_and_a_coding_that_codes_nothing_is_none(string fields)
    {
        var capture = Sample.Asked(Sample.Store()).Answered("HTTP/1.1 200 OK\r\n" + fields, "data: 1\n\n"u8.ToArray());
        Assert.Single(capture.Messages.Kept);
    }

    [Theory]
    [InlineData("Content-Type: text/event-stream\r\nContent-Encoding: GZIP")]
    [InlineData("Content-Type: text/event-streams")]
    [InlineData("X-Content-Type: text/event-stream")]
    public void What_is_coded_or_of_a_similar_type_has_no_events(string fields)
    {
        var capture = Sample.Asked(Sample.Store()).Answered("HTTP/1.1 200 OK\r\n" + fields, "data: 1\n\n"u8.ToArray());
        Assert.Empty(capture.Messages.Kept);
    }

    [Fact]
    public void A_body_of_another_type_has_no_events()
    {
        var capture = Sample.Asked(Sample.Store())
            .Answered("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: event-stream", "data: 1\n\n"u8.ToArray());
        Assert.Empty(capture.Messages.Kept);
    }
}
