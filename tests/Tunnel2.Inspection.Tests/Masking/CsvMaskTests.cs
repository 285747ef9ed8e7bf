using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

public sealed class CsvMaskTests
{
    [Theory]
    [InlineData("user,password,age\r\nbob,x,1\r\nann,,2\r\n", "user,password,age\r\nbob,***,1\r\nann,,2\r\n")]
    [InlineData("\"api key\";user\n\"a;\"\"b\nc\";bob\nd;ann", "\"api key\";user\n***;bob\n***;ann")]
    [InlineData("id\ttoken\n1\t\"cut o", "id\ttoken\n1\t***")]
    [InlineData("token\nx\ny", "token\n***\n***")]
    [InlineData("user,note\nbob,token\n", "user,note\nbob,token\n")]
    [InlineData("\"token", "\"token")]
    [InlineData("", "")]
    public void Columns_with_secret_names(string table, string shown) =>
        Assert.Equal(shown, CsvMask.Apply(table, MaskingRules.BuiltIn));
}
