using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests;

public sealed class PlainTextTests
{
    [Theory]
    [InlineData("")]
    [InlineData("tunnel2 1.2.3+abc (linux-x64)")]
    [InlineData("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")]
    [InlineData("busy – später")]
    [InlineData("日本語 العربية русский 🙂")]
    public void What_is_seen_as_it_is_stays(string text) => Assert.Equal(text, PlainText.Clean(text));

    [Theory]
    [InlineData("a\rb\nc\td", "a?b?c?d")]
    [InlineData("\u001b[2J\u001b]0;title\u0007", "?[2J?]0;title?")]
    [InlineData("\0\u007f", "??")]
    [InlineData("\u0085\u009b1m\u009dx\u009c", "??1m?x?")]
    [InlineData("a\u202eb\u202ac\u2066d\u2069e\u200ef\u061cg", "a?b?c?d?e?f?g")]
    [InlineData("a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg", "a?b?c?d?e?f?g")]
    [InlineData("a\u2028b\u2029c", "a?b?c")]
    [InlineData("a\u3164b\u115fc\u2800d", "a?b?c?d")]
    [InlineData("a\U000E0041b\U000E0100c", "a?b?c")]
    public void What_steers_or_hides_is_replaced(string text, string clean) => Assert.Equal(clean, PlainText.Clean(text));

    [Fact]
    public void Surrogates_that_stand_alone_are_replaced()
    {
        Assert.Equal("a\ufffdb", PlainText.Clean("a\ud83db"));
        Assert.Equal("\ufffda", PlainText.Clean("\udc00a"));
    }

    [Fact]
    public void What_is_no_utf8_is_replaced() => Assert.Equal("a\ufffdb\ufffd?", PlainText.Read([(byte)'a', 0xFF, (byte)'b', 0xC0, 0x1B]));

    [Fact]
    public void A_long_text_is_cut()
    {
        Assert.Equal(new string('x', 1024), PlainText.Clean(new string('x', 1024)));
        Assert.Equal(new string('x', 1024) + "…", PlainText.Clean(new string('x', 5000)));
        Assert.Equal("abc…", PlainText.Clean("abcdef", 3));
    }

    [Fact]
    public void A_peers_words_come_out_of_every_message_clean()
    {
        const string Evil = "1\r\n\u001b[31m\u202e\u009b";
        const string Clean = "1???[31m??";
        var hello = new HelloMessage
        {
            AgentName = Evil,
            AgentVersion = Evil,
            InstanceKey = new byte[16],
            WantedName = Evil,
            AgentId = Evil,
        };
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(hello.ToFrame().AsSpan(FrameHeader.Size), out var readHello));
        Assert.Equal((Clean, Clean, Clean, Clean), (readHello!.AgentName, readHello.AgentVersion, readHello.WantedName, readHello.AgentId));

        var welcome = new WelcomeMessage
        {
            SessionId = new byte[WelcomeMessage.SessionIdLength],
            JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
            Name = Evil,
            PublicUrls = [Evil],
        };
        Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(welcome.ToFrame().AsSpan(FrameHeader.Size), out var readWelcome));
        Assert.Equal((Clean, Clean), (readWelcome!.Name, readWelcome.PublicUrls[0]));

        Assert.Equal(
            ProtocolError.None,
            RejectMessage.TryRead(
                new RejectMessage(RejectCode.Overloaded, TimeSpan.Zero, Evil).ToFrame().AsSpan(FrameHeader.Size), out var reject));
        Assert.Equal(Clean, reject!.Text);

        var frame = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength];
        var length = ControlFrames.WriteGoAway(frame, GoAwayPhase.Final, SessionEndReason.Shutdown, Evil);
        Assert.Equal(
            ProtocolError.None,
            ControlFrames.TryReadGoAway(frame.AsSpan(FrameHeader.Size, length - FrameHeader.Size), out _, out _, out var text));
        Assert.Equal(Clean, text);
    }
}
