namespace Tunnel2.Protocol.Tests;

public sealed class ProtocolVersionTests
{
    [Theory]
    [InlineData(1, 1, true)]
    [InlineData(0, 1, true)]
    [InlineData(1, 255, true)]
    [InlineData(0, 255, true)]
    [InlineData(0, 0, false)]
    [InlineData(2, 255, false)]
    [InlineData(2, 1, false)]
    [InlineData(255, 0, false)]
    public void The_highest_version_inside_both_ranges_is_chosen(byte lowest, byte highest, bool meets)
    {
        Assert.Equal(meets, ProtocolVersion.TryChoose(lowest, highest, out var chosen));
        Assert.Equal(meets ? 1 : 0, chosen);
    }

    [Fact]
    public void The_application_protocol_names_the_version() => Assert.Equal("tunnel2/1", ProtocolVersion.Alpn);
}
