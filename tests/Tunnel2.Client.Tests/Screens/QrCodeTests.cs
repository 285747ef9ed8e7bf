using QRCoder;
using Tunnel2.Client.Screens;
using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Tests.Screens;

public sealed class QrCodeTests
{
    private const string Url = "http://web.localhost:12000";

    [Theory]
    [InlineData(true, 22, 4)]
    [InlineData(false, 22, 4)]
    [InlineData(true, 15, 2)]
    public void Each_module_is_half_a_character_dark_on_paper_and_light_without_it(bool hasColors, int rows, int margin)
    {
        IReadOnlyList<ScreenRow>? drawn = QrCode.Render(Url, 80, rows, hasColors);
        Assert.NotNull(drawn);
        Assert.InRange(drawn.Count, 1, rows);
        using QRCodeData code = QRCodeGenerator.GenerateQrCode(Url, QRCodeGenerator.ECCLevel.L);
        int size = code.ModuleMatrix.Count - 8 + (2 * margin);
        int cut = 4 - margin;
        for (int y = 0; y < size; y++)
        {
            string row = drawn[y / 2].ToString();
            Assert.Equal(size, row.Length);
            for (int x = 0; x < size; x++)
            {
                bool isDrawn = row[x] == '█' || row[x] == (y % 2 == 0 ? '▀' : '▄');
                Assert.Equal(code.ModuleMatrix[y + cut][x + cut] == hasColors, isDrawn);
            }
        }

        Assert.StartsWith(hasColors ? "\x1b[30;107m" : " ", drawn[0].ToAnsi(80, hasColors).Replace('█', ' '), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(20, 22)]
    [InlineData(80, 10)]
    [InlineData(0, 0)]
    public void What_does_not_fit_is_not_drawn(int columns, int rows) => Assert.Null(QrCode.Render(Url, columns, rows, hasColors: true));

    [Fact]
    public void A_text_that_is_too_long_for_a_code_has_none() =>
        Assert.Null(QrCode.Render(new string('x', 10_000), 1000, 1000, hasColors: true));
}
