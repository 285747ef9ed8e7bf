using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Chunked;

public sealed class RandomChunkTests
{
    private static readonly Gen<string> _body =
        from sizes in Gen.OneOf(Gen.Choose(1, 40), Gen.Choose(1, 300)).ArrayOf().Where(s => s.Length <= 12)
        from fill in Gen.Choose(0, 255)
        from trailers in Messages.Fields
        select Encode(sizes, fill, trailers.Take(5));

    [Fact]
    public void What_the_encoder_writes_the_decoder_gives_back()
    {
        Gen<(byte[][] Chunks, (string Name, string Value)[] Trailers)> bodies =
            from chunks in Gen.Choose(1, 200)
                .SelectMany(n => Gen.Choose(0, 255).Select(b => (byte)b).ArrayOf(n))
                .ArrayOf()
                .Where(c => c.Length <= 10)
            from trailers in Messages.Fields
            select (chunks, trailers.Take(5).ToArray());

        Prop.ForAll(bodies.ToArbitrary(), body =>
        {
            byte[] buffer = new byte[65536];
            int length = 0;
            foreach (byte[] chunk in body.Chunks)
            {
                length += ChunkedEncoder.WriteHeader(buffer.AsSpan(length), chunk.Length);
                chunk.CopyTo(buffer, length);
                length += chunk.Length;
                ChunkedEncoder.DataEnd.CopyTo(buffer.AsSpan(length));
                length += ChunkedEncoder.TrailingBytes;
            }

            var writer = new HeadWriter(buffer.AsSpan(length));
            writer.WriteCheckedLines(ChunkedEncoder.LastChunkBeforeTrailers);
            foreach ((string name, string value) in body.Trailers)
            {
                writer.WriteField(Latin1.Bytes(name), Latin1.Bytes(value));
            }

            if (writer.WriteEnd() != HeadWriteStatus.Ok)
            {
                return false;
            }

            Chunks decoded = Chunks.DecodeEveryWay(Latin1.Text(buffer.AsSpan(0, length + writer.Written)));
            return decoded.Status == ChunkedStatus.Done
                && decoded.Consumed == length + writer.Written
                && decoded.Body == string.Concat(body.Chunks.Select(c => Latin1.Text(c)))
                && decoded.Trailers == string.Join('|', body.Trailers.Select(t => $"{t.Name}={t.Value}"));
        }).Check(Messages.Runs(60));
    }

    [Fact]
    public void Damaged_bodies_have_one_answer_however_they_are_split() =>
        Prop.ForAll(_body.SelectMany(_ => Messages.Damage, Messages.Apply).ToArbitrary(), body => { Chunks.DecodeEveryWay(body); })
            .Check(Messages.Runs(150));

    [Fact]
    public void Random_bytes_are_answered_however_they_are_split() =>
        Prop.ForAll(Gen.Choose(0, 255).ArrayOf().ToArbitrary(), bytes =>
        {
            string body = string.Concat(bytes.Select(b => (char)b));
            Chunks.DecodeEveryWay(body, allowPaddedSizes: true);
            Chunks.DecodeEveryWay("1;" + body);
            Chunks.DecodeEveryWay("0\r\n" + body);
        }).Check(Messages.Runs(200));

    private static string Encode(int[] sizes, int fill, IEnumerable<(string Name, string Value)> trailers)
    {
        var body = new StringBuilder();
        foreach (int size in sizes)
        {
            body.Append(System.Globalization.CultureInfo.InvariantCulture, $"{size:X}{(size % 3 == 0 ? ";a=\"b\"" : "")}\r\n");
            body.Append((char)fill, size).Append("\r\n");
        }

        body.Append("0\r\n");
        foreach ((string name, string value) in trailers)
        {
            body.Append(name).Append(": ").Append(value).Append("\r\n");
        }

        return body.Append("\r\n").ToString();
    }
}
