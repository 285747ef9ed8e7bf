using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.Requests;

public sealed class ResponseFactsTests
{
    [Fact]
    public void Without_the_field_there_is_no_length()
    {
        Assert.True(TryRead(out var length, ("X-Length", "5"), ("Content-Typing", "7")));
        Assert.Equal(ResponseFacts.NoLength, length);
    }

    [Theory]
    [InlineData("0", 0)]
    [InlineData("5", 5)]
    [InlineData("9223372036854775807", long.MaxValue)]
    public void A_number_is_the_length_in_any_case_of_the_name(string value, long expected)
    {
        foreach (var name in new[] { "Content-Length", "content-length", "CONTENT-LENGTH" })
        {
            Assert.True(TryRead(out var length, ("A", "b"), (name, value)));
            Assert.Equal(expected, length);
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("-1")]
    [InlineData("+1")]
    [InlineData("1 ")]
    [InlineData("0x1")]
    [InlineData("1,1")]
    [InlineData("9223372036854775808")]
    public void What_is_no_number_is_refused(string value) => Assert.False(TryRead(out _, ("Content-Length", value)));

    [Fact]
    public void The_same_twice_is_once_and_two_different_ones_are_refused()
    {
        Assert.True(TryRead(out var length, ("Content-Length", "5"), ("content-length", "05")));
        Assert.Equal(5, length);
        Assert.False(TryRead(out _, ("Content-Length", "5"), ("Content-Length", "0")));
    }

    [Fact]
    public void The_agents_timing_is_the_last_in_any_case_of_the_name()
    {
        Assert.True(TryRead(out _, out var timing, ("Tunnel2-Timing", "1,2"), ("Content-Length", "5"), ("TUNNEL2-TIMING", "250,1750")));
        Assert.Equal(new AgentTiming(TimeSpan.FromMicroseconds(250), TimeSpan.FromMicroseconds(1750)), timing);
        Assert.True(TryRead(out _, out timing, ("Tunnel2-Timing", "1,2"), ("Tunnel2-Timing", "nonsense"), ("Tunnel2-Timings", "3,4")));
        Assert.Null(timing);
    }

    [Fact]
    public void A_head_that_is_refused_still_says_what_the_agent_measured()
    {
        Assert.False(TryRead(out _, out var timing, ("Content-Length", "x"), ("Tunnel2-Timing", "250,1750")));
        Assert.NotNull(timing);
    }

    private static bool TryRead(out long length, params (string Name, string Value)[] fields) => TryRead(out length, out _, fields);

    private static bool TryRead(out long length, out AgentTiming? timing, params (string Name, string Value)[] fields)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginResponse(HeaderBlockFlags.None, 200, "OK"u8);
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer.AsSpan(0, writer.Complete()), out var head));
        var isValid = ResponseFacts.TryRead(head, out var facts);
        length = facts.Length;
        timing = facts.Timing;
        return isValid;
    }
}
