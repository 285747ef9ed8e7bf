using Tunnel2.Inspection.Exporting;

namespace Tunnel2.Inspection.Tests.Exporting;

public sealed class ExchangeIdTests
{
    [Theory]
    [InlineData("12", null, 12L)]
    [InlineData("e1:12", null, null)]
    [InlineData("12", "e1", 12L)]
    [InlineData("e1:12", "e1", 12L)]
    [InlineData("e2:40,e1:12", "e1", 12L)]
    [InlineData("e2:40", "e1", null)]
    [InlineData("e1:x", "e1", null)]
    [InlineData("e1:-1", "e1", null)]
    [InlineData("e11:12", "e1", null)]
    [InlineData("", "e1", null)]
    [InlineData(null, "e1", null)]
    [InlineData("e1:99999999999999999999", "e1", null)]
    public void A_store_reads_what_is_its_own(string? text, string? node, long? expected) =>
        Assert.Equal(expected, ExchangeId.Read(text, node));

    [Theory]
    [InlineData(null)]
    [InlineData("e1")]
    [InlineData("n-1~123456")]
    public void What_is_written_is_read(string? node)
    {
        Assert.Equal(7, ExchangeId.Read(ExchangeId.Text(node, 7), node));
        Assert.Equal((node, "7"), ExchangeId.Split(ExchangeId.Text(node, 7)));
    }
}
