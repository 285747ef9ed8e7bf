using System.Diagnostics;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

public sealed class TraceParentTests
{
    private const string Valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    [Theory]
    [InlineData(Valid, true)]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false)]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0a", false)]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true)]
    [InlineData("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true)]
    [InlineData("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", true)]
    public void A_valid_value_is_read(string value, bool isSampled)
    {
        Assert.True(TraceParent.TryParse(Encoding.ASCII.GetBytes(value), out var context));
        Assert.Equal("4bf92f3577b34da6a3ce929d0e0e4736", context.TraceId.ToHexString());
        Assert.Equal("00f067aa0ba902b7", context.SpanId.ToHexString());
        Assert.Equal(isSampled, context.TraceFlags == ActivityTraceFlags.Recorded);
        Assert.True(context.IsRemote);
    }

    [Theory]
    [InlineData("")]
    [InlineData("00")]
    [InlineData("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more")]
    [InlineData("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more")]
    [InlineData("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")]
    [InlineData("00-00000000000000000000000000000000-00f067aa0ba902b7-01")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01")]
    [InlineData("00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01")]
    [InlineData("0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    [InlineData("00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01")]
    public void Anything_else_is_not(string value) => Assert.False(TraceParent.TryParse(Encoding.ASCII.GetBytes(value), out _));

    [Fact]
    public void No_change_of_a_byte_makes_it_fail_otherwise_than_by_saying_no()
    {
        var changes = from at in Gen.Choose(0, 54) from to in Gen.Choose(0, 255) select (at, to);
        Prop.ForAll(Arb.From(changes), static change =>
        {
            var bytes = Encoding.ASCII.GetBytes(Valid);
            bytes[change.at] = (byte)change.to;
            return !TraceParent.TryParse(bytes, out var context) || (context.TraceId != default && context.SpanId != default);
        }).QuickCheckThrowOnFailure();
    }

    [Fact]
    public void What_is_written_can_be_read()
    {
        using var span = new Activity("x").SetIdFormat(ActivityIdFormat.W3C).Start();
        Span<byte> value = stackalloc byte[TraceParent.Length];
        TraceParent.Write(span, value);
        Assert.True(TraceParent.TryParse(value, out var context));
        Assert.Equal((span.TraceId, span.SpanId), (context.TraceId, context.SpanId));
    }
}
