using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class ControlQueueTests
{
    private readonly ControlQueue _queue = new(new ReadyStreamChannel(PipeScheduler.Inline, static () => false));
    private readonly byte[] _room = new byte[16 * 1024];

    [Fact]
    public void Answers_leave_in_their_order_and_once()
    {
        Assert.True(_queue.TryAddAnswer(1));
        Assert.True(_queue.TryAddAnswer(2));
        Assert.Equal(["Ping Ack 1", "Ping Ack 2"], Take());
        Assert.Empty(Take());
    }

    [Fact]
    public void A_peer_that_reads_no_answers_is_found_out_and_one_that_does_is_not()
    {
        for (var i = 0; i < ControlQueue.MaxPendingAnswers; i++)
        {
            Assert.True(_queue.TryAddAnswer(1));
        }

        Assert.False(_queue.TryAddAnswer(1));
        Assert.Equal(ControlQueue.MaxPendingAnswers, Take().Count);
        Assert.True(_queue.TryAddAnswer(1));
    }

    [Fact]
    public void Of_several_questions_the_last_is_asked()
    {
        _queue.AddPing(1);
        _queue.AddPing(2);
        Assert.Equal(["Ping 2"], Take());
        Assert.Empty(Take());
    }

    [Fact]
    public void Credit_is_summed_up()
    {
        _queue.AddUplinkCredit(1000);
        _queue.AddUplinkCredit(24);
        Assert.Equal(["Window 1024"], Take());
        Assert.Empty(Take());
    }

    [Fact]
    public void Answers_go_first_and_the_goodbye_last()
    {
        _queue.AddGoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown, "bye");
        _queue.AddUplinkCredit(1);
        _queue.AddPing(3);
        _queue.TryAddAnswer(4);
        Assert.Equal(["Ping Ack 4", "Ping 3", "Window 1", "GoAway Notice Shutdown bye"], Take());
    }

    [Fact]
    public void A_goodbye_is_said_once_unless_it_becomes_stronger()
    {
        _queue.AddGoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown, "a");
        _queue.AddGoAway(GoAwayPhase.Notice, SessionEndReason.Superseded, "b");
        Assert.Equal(["GoAway Notice Shutdown a"], Take());
        _queue.AddGoAway(GoAwayPhase.Notice, SessionEndReason.Superseded, "c");
        Assert.Empty(Take());
        _queue.AddGoAway(GoAwayPhase.Final, SessionEndReason.ProtocolError, "d");
        Assert.Equal(["GoAway Final ProtocolError d"], Take());
        _queue.AddGoAway(GoAwayPhase.Notice, SessionEndReason.HandOver, "e");
        _queue.AddGoAway(GoAwayPhase.Final, SessionEndReason.Shutdown, "f");
        Assert.Empty(Take());
    }

    [Fact]
    public void A_notice_is_taken_back_by_handing_over_and_said_again()
    {
        foreach (var reason in new[]
        {
            SessionEndReason.Shutdown,
            SessionEndReason.HandOver,
            SessionEndReason.Shutdown,
            SessionEndReason.HandOver,
        })
        {
            _queue.AddGoAway(GoAwayPhase.Notice, reason, "");
            Assert.Equal([$"GoAway Notice {reason} "], Take());
            _queue.AddGoAway(GoAwayPhase.Notice, reason, "");
            Assert.Empty(Take());
        }
    }

    private List<string> Take()
    {
        var written = _queue.CopyTo(_room, out var frames);
        var seen = new List<string>();
        for (var at = 0; at < written;)
        {
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(_room.AsSpan(at), out var header));
            var payload = _room.AsSpan(at + FrameHeader.Size, header.Length);
            seen.Add(header.Type switch
            {
                FrameType.Ping => $"Ping {((header.Flags & FrameFlags.Ack) != 0 ? "Ack " : "")}{ControlFrames.ReadPing(payload)}",
                FrameType.Window => $"Window {System.Buffers.Binary.BinaryPrimitives.ReadInt32BigEndian(payload)}",
                _ => GoAway(payload),
            });
            at += FrameHeader.Size + header.Length;
        }

        Assert.Equal(frames, seen.Count);
        return seen;

        static string GoAway(ReadOnlySpan<byte> payload)
        {
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(payload, out var phase, out var reason, out var text));
            return $"GoAway {phase} {reason} {text}";
        }
    }
}
