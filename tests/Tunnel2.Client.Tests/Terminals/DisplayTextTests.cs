using System.Text;
using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Tests.Terminals;

public sealed class DisplayTextTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("abc", 3)]
    [InlineData("é", 1)]
    [InlineData("e\u0301", 1)]
    [InlineData("日本", 4)]
    [InlineData("한", 2)]
    [InlineData("Ａ", 2)]
    [InlineData("😀", 2)]
    [InlineData("→─█", 3)]
    [InlineData("ａ\u0301b", 3)]
    [InlineData("\u1100\u1161", 2)]
    [InlineData("𠀀", 2)]
    [InlineData("⌚✅⭐", 6)]
    [InlineData("☀✈", 2)]
    public void Columns_are_counted_as_a_terminal_does(string text, int columns) => Assert.Equal(columns, DisplayText.WidthOf(text));

    [Theory]
    [InlineData("abc", 3, "abc")]
    [InlineData("abcd", 3, "ab…")]
    [InlineData("abcd", 1, "…")]
    [InlineData("abcd", 0, "")]
    [InlineData("日本", 4, "日本")]
    [InlineData("日本", 3, "日…")]
    [InlineData("日本", 2, "…")]
    [InlineData("a日本", 4, "a日…")]
    [InlineData("日本語", 5, "日本…")]
    [InlineData("e\u0301e\u0301e\u0301", 2, "e\u0301…")]
    [InlineData("e\u0301", 1, "e\u0301")]
    [InlineData("\u0301a", 5, "a")]
    [InlineData("a\u0301\u0302\u0303\u0304b", 5, "a\u0301\u0302b")]
    public void A_text_is_cut_between_characters_and_never_wider(string text, int columns, string cut)
    {
        Assert.Equal(cut, DisplayText.Cut(text, columns));
        Assert.True(DisplayText.WidthOf(cut) <= columns);
    }

    [Fact]
    public void A_thousand_marks_are_no_longer_than_two()
    {
        string cut = DisplayText.Cut("x" + new string('\u0301', 1000) + new string('y', 1000), 10);
        Assert.Equal("x\u0301\u0301yyyyyyyy…", cut);
    }

    [Theory]
    [InlineData("ab", 4, false, "ab  ")]
    [InlineData("ab", 4, true, "  ab")]
    [InlineData("日本", 3, false, "日…")]
    [InlineData("日本語", 4, true, " 日…")]
    public void A_text_is_filled_to_its_columns(string text, int columns, bool atRight, string fitted)
    {
        Assert.Equal(fitted, DisplayText.Fit(text, columns, atRight));
        Assert.Equal(columns, DisplayText.WidthOf(fitted));
    }

    [Fact]
    public void Every_character_has_a_width_and_every_cut_keeps_to_it()
    {
        for (int value = 0x20; value <= 0x3FFFF; value++)
        {
            if (!Rune.TryCreate(value, out Rune rune))
            {
                continue;
            }

            string text = "a" + rune + "b";
            Assert.InRange(DisplayText.WidthOf(rune), 0, 2);
            Assert.True(DisplayText.WidthOf(DisplayText.Cut(text, 2)) <= 2);
        }
    }
}
