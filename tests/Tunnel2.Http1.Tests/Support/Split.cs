namespace Tunnel2.Http1.Tests.Support;

/// <summary>
/// Parses a message whole, then in two parts cut at every byte, then byte by byte, and insists on one answer. Every call sees an array
/// of its own that ends where the bytes end, so that a read beyond them is an exception.
/// </summary>
internal static class Split
{
    /// <summary>Parses a request and gives the parser, which has read <paramref name="message"/> from one array.</summary>
    public static RequestHeadParser Request(string message, out ParsedHead head, Http1Limits? limits = null)
    {
        byte[] bytes = Latin1.Bytes(message);
        var parser = new RequestHeadParser(limits ?? Http1Limits.Default);
        head = Parse(bytes, parser, p => p.Reset(), (p, b) => (p.Parse(b, out int c), c), ParsedHead.Of);
        return parser;
    }

    /// <summary>Parses a response and gives the parser, which has read <paramref name="message"/> from one array.</summary>
    public static ResponseHeadParser Response(
        string message, out ParsedHead head, KnownMethod method = KnownMethod.Get, Http1Limits? limits = null)
    {
        byte[] bytes = Latin1.Bytes(message);
        var parser = new ResponseHeadParser(limits ?? Http1Limits.Default);
        head = Parse(bytes, parser, p => p.Reset(method), (p, b) => (p.Parse(b, out int c), c), ParsedHead.Of);
        return parser;
    }

    private static ParsedHead Parse<TParser>(
        byte[] bytes,
        TParser parser,
        Action<TParser> reset,
        Func<TParser, byte[], (ParseStatus Status, int Consumed)> parse,
        Func<TParser, ParseStatus, int, byte[], ParsedHead> describe)
    {
        ParsedHead whole = Once([bytes.Length]);
        for (int cut = 0; cut < bytes.Length; cut++)
        {
            Same(Once([cut, bytes.Length]), $"cut at {cut}");
        }

        Same(Once([.. Enumerable.Range(0, bytes.Length + 1)]), "byte by byte");
        Same(Once([bytes.Length]), "again");
        return whole;

        ParsedHead Once(int[] lengths)
        {
            reset(parser);
            (ParseStatus Status, int Consumed) result = default;
            foreach (int length in lengths)
            {
                result = parse(parser, bytes[..length]);
                if (result.Status != ParseStatus.NeedMore)
                {
                    break;
                }

                Assert.Equal(0, result.Consumed);
            }

            return describe(parser, result.Status, result.Consumed, bytes);
        }

        void Same(ParsedHead other, string how) => Assert.True(whole.SameAs(other), $"{how}: {other}\nwhole: {whole}");
    }
}
