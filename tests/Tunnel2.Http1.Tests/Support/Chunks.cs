namespace Tunnel2.Http1.Tests.Support;

/// <summary>What a <see cref="ChunkedDecoder"/> made of a body that arrived in pieces.</summary>
internal sealed record Chunks(ChunkedStatus Status, Http1Error Error, string Body, string Trailers, int Consumed)
{
    /// <summary>
    /// Feeds <paramref name="body"/> so that the decoder sees it grow to each of <paramref name="lengths"/> in turn, keeping what is not
    /// consumed, as a connection's buffer does. Every call sees an array of its own.
    /// </summary>
    public static Chunks Decode(byte[] body, IEnumerable<int> lengths, ref ChunkedDecoder decoder)
    {
        decoder.Reset();
        var data = new List<byte>();
        string trailers = "";
        int start = 0;
        ChunkedStatus status = ChunkedStatus.NeedMore;
        foreach (int length in lengths)
        {
            do
            {
                byte[] input = body[start..length];
                status = decoder.Decode(input, out int consumed, out int offset, out int count);
                Assert.InRange(consumed, 0, input.Length);
                Assert.Equal(status == ChunkedStatus.Data, count > 0);
                data.AddRange(input.AsSpan(offset, count));
                if (status == ChunkedStatus.Done)
                {
                    trailers = string.Join(
                        '|', decoder.Trailers.ToArray().Select(f => $"{Latin1.Text(f.Name(input))}={Latin1.Text(f.Value(input))}"));
                }

                start += consumed;
            }
            while (status == ChunkedStatus.Data);

            if (status != ChunkedStatus.NeedMore)
            {
                break;
            }
        }

        return new Chunks(status, decoder.Error, Latin1.Text([.. data]), trailers, status == ChunkedStatus.Invalid ? 0 : start);
    }

    /// <summary>Decodes whole, cut in two at every byte, and byte by byte, and insists on one answer.</summary>
    public static Chunks DecodeEveryWay(string body, bool allowPaddedSizes = false, Http1Limits? limits = null)
    {
        byte[] bytes = Latin1.Bytes(body);
        var decoder = new ChunkedDecoder(limits ?? Http1Limits.Default, allowPaddedSizes);
        Chunks whole = Decode(bytes, [bytes.Length], ref decoder);
        for (int cut = 0; cut < bytes.Length; cut++)
        {
            Assert.Equal(whole, Decode(bytes, [cut, bytes.Length], ref decoder));
        }

        Assert.Equal(whole, Decode(bytes, Enumerable.Range(0, bytes.Length + 1), ref decoder));
        return whole;
    }
}
