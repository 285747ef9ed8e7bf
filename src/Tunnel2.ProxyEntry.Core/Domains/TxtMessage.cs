using System.Buffers.Binary;
using System.Text;

namespace Tunnel2.ProxyEntry.Domains;

/// <summary>The question for the TXT records of a name, and the answer to it (RFC 1035). Stateless.</summary>
internal static class TxtMessage
{
    private const int HeaderLength = 12;
    private const ushort TypeTxt = 16;
    private const ushort ClassIn = 1;
    private const byte Pointer = 0xC0;

    /// <summary>How many records of an answer are looked at.</summary>
    private const int MostRecords = 100;

    /// <summary>Makes the question.</summary>
    /// <param name="id">A random number, which the answer has too.</param>
    /// <param name="name">A name of ASCII.</param>
    public static byte[] Ask(ushort id, string name)
    {
        var labels = name.Split('.');
        var message = new byte[HeaderLength + labels.Sum(static label => label.Length + 1) + 1 + 4];
        BinaryPrimitives.WriteUInt16BigEndian(message, id);

        // Recursion is desired; one question.
        message[2] = 1;
        message[5] = 1;
        var position = HeaderLength;
        foreach (var label in labels)
        {
            message[position] = (byte)label.Length;
            Encoding.ASCII.GetBytes(label, message.AsSpan(position + 1));
            position += label.Length + 1;
        }

        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(position + 1), TypeTxt);
        BinaryPrimitives.WriteUInt16BigEndian(message.AsSpan(position + 3), ClassIn);
        return message;
    }

    /// <summary>Reads the answer.</summary>
    /// <param name="question">What was asked.</param>
    /// <param name="answer">What came.</param>
    /// <param name="texts">The texts of the records, of any name: a CNAME may have led to them.</param>
    /// <returns>What kind of answer it is.</returns>
    public static TxtAnswer Read(ReadOnlySpan<byte> question, ReadOnlySpan<byte> answer, out List<string> texts)
    {
        texts = [];
        if (answer.Length < question.Length
            || (answer[2] & 0x80) == 0
            || !answer[..2].SequenceEqual(question[..2])
            || BinaryPrimitives.ReadUInt16BigEndian(answer[4..]) != 1
            || !Ascii.EqualsIgnoreCase(answer[HeaderLength..question.Length], question[HeaderLength..]))
        {
            return TxtAnswer.NotOurs;
        }

        const int NoSuchName = 3;
        var code = answer[3] & 0x0F;
        if ((answer[2] & 2) != 0)
        {
            return TxtAnswer.Cut;
        }

        if (code is not (0 or NoSuchName))
        {
            return TxtAnswer.Failed;
        }

        var position = question.Length;
        var records = Math.Min(BinaryPrimitives.ReadUInt16BigEndian(answer[6..]), (ushort)MostRecords);
        for (var i = 0; i < records; i++)
        {
            if (!TrySkipName(answer, ref position) || position + 10 > answer.Length)
            {
                return TxtAnswer.Failed;
            }

            var type = BinaryPrimitives.ReadUInt16BigEndian(answer[position..]);
            var length = BinaryPrimitives.ReadUInt16BigEndian(answer[(position + 8)..]);
            position += 10;
            if (position + length > answer.Length)
            {
                return TxtAnswer.Failed;
            }

            if (type == TypeTxt)
            {
                texts.Add(TextOf(answer.Slice(position, length)));
            }

            position += length;
        }

        return TxtAnswer.Records;
    }

    private static bool TrySkipName(ReadOnlySpan<byte> message, ref int position)
    {
        while (position < message.Length)
        {
            var length = message[position];
            if ((length & Pointer) == Pointer)
            {
                position += 2;
                return position <= message.Length;
            }

            position += length + 1;
            if (length == 0)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The strings of one record, one after the other.</summary>
    private static string TextOf(ReadOnlySpan<byte> data)
    {
        var text = new StringBuilder();
        while (!data.IsEmpty)
        {
            var length = Math.Min(data[0], data.Length - 1);
            text.Append(Encoding.Latin1.GetString(data.Slice(1, length)));
            data = data[(1 + length)..];
        }

        return text.ToString();
    }
}
