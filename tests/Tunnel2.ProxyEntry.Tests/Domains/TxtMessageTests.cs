using System.Text;
using Tunnel2.ProxyEntry.Domains;

namespace Tunnel2.ProxyEntry.Tests.Domains;

public sealed class TxtMessageTests
{
    private static readonly byte[] _question = TxtMessage.Ask(0x1234, "_c.a.example");

    [Fact]
    public void The_question_is_as_RFC_1035_has_it() => Assert.Equal(
        "12340100000100000000000002" + "5F63" + "01" + "61" + "07" + "6578616D706C65" + "00" + "00100001", Convert.ToHexString(_question));

    [Fact]
    public void The_texts_of_all_TXT_records_are_read_also_after_an_alias()
    {
        // CNAME, then a record of two strings, then one of another name.
        byte[] answer =
        [
            .. Answer(records: 3), 0xC0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xC0, 15,
            0xC0, 15, 0, 16, 0, 1, 0, 0, 0, 9, 0, 6, 2, (byte)'o', (byte)'n', 2, (byte)'e', (byte)'!',
            1, (byte)'x', 0, 0, 16, 0, 1, 0, 0, 0, 9, 0, 1, 0,
        ];
        Assert.Equal(TxtAnswer.Records, TxtMessage.Read(_question, answer, out var texts));
        Assert.Equal(["one!", ""], texts);
    }

    [Theory]
    [InlineData(2, 0x81, 3, 0x03, TxtAnswer.Records)]
    [InlineData(2, 0x81, 3, 0x02, TxtAnswer.Failed)]
    [InlineData(2, 0x81, 3, 0x05, TxtAnswer.Failed)]
    [InlineData(2, 0x83, 3, 0x00, TxtAnswer.Cut)]
    [InlineData(2, 0x01, 3, 0x00, TxtAnswer.NotOurs)]
    [InlineData(0, 0x13, 3, 0x00, TxtAnswer.NotOurs)]
    [InlineData(5, 0x02, 3, 0x00, TxtAnswer.NotOurs)]
    [InlineData(14, 0x64, 3, 0x00, TxtAnswer.NotOurs)]
    public void A_head_that_differs_is_understood(int at, byte value, int andAt, byte andValue, object expected)
    {
        var answer = Answer(records: 0);
        (answer[at], answer[andAt]) = (value, andValue);
        Assert.Equal(expected, TxtMessage.Read(_question, answer, out var texts));
        Assert.Empty(texts);
    }

    [Fact]
    public void What_is_cut_or_random_is_refused_and_never_thrown_at_the_caller()
    {
        byte[] whole = [.. Answer(records: 1), 0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 9, 0, 5, 4, .. Encoding.ASCII.GetBytes("text")];
        for (var length = 0; length < whole.Length; length++)
        {
            Assert.NotEqual(TxtAnswer.Records, TxtMessage.Read(_question, whole.AsSpan(0, length), out _));
        }

        var random = new Random(5);
        for (var run = 0; run < 20_000; run++)
        {
            var bytes = Answer(records: (byte)random.Next(4)).Concat(new byte[random.Next(60)]).ToArray();
            random.NextBytes(bytes.AsSpan(_question.Length));
            TxtMessage.Read(_question, bytes, out _);
        }
    }

    private static byte[] Answer(byte records)
    {
        var answer = _question.ToArray();
        (answer[2], answer[3], answer[7]) = (0x81, 0x80, records);
        return answer;
    }
}
