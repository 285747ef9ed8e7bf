using System.Text;
using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Tests.Terminals;

public sealed class KeyReaderTests
{
    private readonly KeyReader _reader = new();
    private readonly List<ScreenKey> _keys = [];

    private string Read(params string[] portions)
    {
        foreach (string portion in portions)
        {
            _reader.Read(Encoding.Latin1.GetBytes(portion), _keys.Add);
        }

        return string.Join(' ', _keys.Select(static key => key.Kind == ScreenKeyKind.Character ? $"{key.Character}" : $"{key.Kind}"));
    }

    [Theory]
    [InlineData("q?/", "q ? /")]
    [InlineData("\r\n", "Enter Enter")]
    [InlineData("\x7f\b", "Backspace Backspace")]
    [InlineData("\f", "Redraw")]
    [InlineData("\x1b[A\x1b[B\x1bOA\x1bOB", "Up Down Up Down")]
    [InlineData("\x1b[5~\x1b[6~\x1b[1~\x1b[4~\x1b[H\x1b[F", "PageUp PageDown Home End Home End")]
    [InlineData("\x1b[1;5Aq", "q")]
    [InlineData("\x1b[200~\x1b[<0;1;1Mq", "q")]
    [InlineData("\x1b\x1b[A", "Escape Up")]
    [InlineData("\x1bq", "Escape q")]
    [InlineData("\x01\x02\x00q", "q")]
    [InlineData("\xff\xfe\xc3\xa9q", "q")]
    public void Bytes_become_keys_and_what_is_unknown_is_left_out(string bytes, string keys) => Assert.Equal(keys, Read(bytes));

    [Fact]
    public void A_sequence_may_come_byte_by_byte() => Assert.Equal("PageUp q", Read("\x1b", "[", "5", "~", "q"));

    [Fact]
    public void An_escape_alone_is_a_key_after_a_pause()
    {
        Assert.Equal("", Read("\x1b"));
        _reader.Pause(_keys.Add);
        Assert.Equal("Escape q", Read("q"));
    }

    [Fact]
    public void A_sequence_that_stops_in_the_middle_is_forgotten_after_a_pause()
    {
        Read("\x1b[5");
        _reader.Pause(_keys.Add);
        Assert.Equal("q", Read("q"));
    }

    [Fact]
    public void A_sequence_without_an_end_costs_no_memory_and_is_no_key()
    {
        Read("\x1b[" + new string('1', 1_000_000));
        Assert.Equal("q", Read("~q"));
    }
}
