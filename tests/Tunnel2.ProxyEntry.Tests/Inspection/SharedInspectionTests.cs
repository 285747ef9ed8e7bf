using System.Globalization;
using System.Text;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Tests.Inspection;

public sealed class SharedInspectionTests
{
    [Fact]
    public void What_is_written_is_read_again_and_the_latest_keepers_are_remembered()
    {
        var inspection = new SharedInspection("web", TimeSpan.FromMinutes(10), []);
        for (var i = 0; i <= SharedInspection.MostKeepers; i++)
        {
            inspection = inspection.With(new InspectionKeeper("e1", i.ToString(CultureInfo.InvariantCulture)));
        }

        var document = inspection.Write(7);
        Assert.Equal(("web", 7L), (document.Key, document.Version));
        Assert.InRange(document.Value.Length, 1, SharedDocument.LongestValue);
        var read = SharedInspection.Read(document)!;
        Assert.Equal(("web", TimeSpan.FromMinutes(10)), (read.Name, read.Lasts));
        Assert.Equal(inspection.Keepers, read.Keepers);
        Assert.Equal((SharedInspection.MostKeepers, "1"), (read.Keepers.Count, read.Keepers[0].Process));
    }

    [Theory]
    [InlineData("")]
    [InlineData("[]")]
    [InlineData("null")]
    [InlineData("""{"milliseconds":1}""")]
    [InlineData("""{"milliseconds":-1,"keepers":[]}""")]
    [InlineData("""{"milliseconds":86400001,"keepers":[]}""")]
    [InlineData("""{"milliseconds":"1","keepers":[]}""")]
    [InlineData("""{"milliseconds":1,"keepers":[1]}""")]
    [InlineData("""{"milliseconds":1,"keepers":{}}""")]
    public void What_makes_no_sense_is_none(string text) =>
        Assert.Null(SharedInspection.Read(new SharedDocument("web", Encoding.UTF8.GetBytes(text))));
}
