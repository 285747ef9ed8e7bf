using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class ConnectionFieldTests
{
    [Theory]
    [InlineData("close", ConnectionOptions.Close)]
    [InlineData("Close", ConnectionOptions.Close)]
    [InlineData("close\t", ConnectionOptions.Close)]
    [InlineData("KEEP-ALIVE", ConnectionOptions.KeepAlive)]
    [InlineData("Upgrade", ConnectionOptions.Upgrade)]
    [InlineData("keep-alive, Upgrade", ConnectionOptions.KeepAlive | ConnectionOptions.Upgrade)]
    [InlineData(" , close ,, TE", ConnectionOptions.Close | ConnectionOptions.Other)]
    [InlineData("keep-alive\r\nConnection: close", ConnectionOptions.KeepAlive | ConnectionOptions.Close)]
    [InlineData("closed", ConnectionOptions.Other)]
    [InlineData("not-close", ConnectionOptions.Other)]
    [InlineData("", ConnectionOptions.None)]
    [InlineData(",", ConnectionOptions.None)]
    internal void Options_are_found_in_all_connection_fields(string value, ConnectionOptions options)
    {
        RequestHeadParser parser = Split.Request($"GET / HTTP/1.1\r\nHost: a\r\nConnection: {value}\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(options, parser.Connection);
    }

    [Theory]
    [InlineData(",", 127, true)]
    [InlineData(",", 128, false)]
    [InlineData("close,", 127, true)]
    [InlineData("close,", 128, false)]
    public void More_than_any_message_has_of_reason_to_list_is_refused(string element, int count, bool accepted)
    {
        // Who forwards goes through them for each field.
        var list = string.Concat(Enumerable.Repeat(element, count));
        RequestHeadParser parser = Split.Request($"GET / HTTP/1.1\r\nHost: a\r\nConnection: {list}close\r\n\r\n", out ParsedHead head);

        Assert.Equal(accepted ? ParseStatus.Done : ParseStatus.Invalid, head.Status);
        Assert.Equal(accepted ? Http1Error.None : Http1Error.InvalidConnection, parser.Error);
    }

    [Theory]
    [InlineData("1.1", "", true)]
    [InlineData("1.1", "Connection: close\r\n", false)]
    [InlineData("1.1", "Connection: keep-alive\r\n", true)]
    [InlineData("1.1", "Connection: keep-alive, close\r\n", false)]
    [InlineData("1.1", "Proxy-Connection: close\r\n", true)]
    [InlineData("1.0", "", false)]
    [InlineData("1.0", "Connection: keep-alive\r\n", true)]
    [InlineData("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false)]
    public void Version_and_options_decide_about_persistence(string version, string fields, bool keepAlive)
    {
        RequestHeadParser parser = Split.Request($"GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(keepAlive, parser.KeepAlive);
    }

    [Theory]
    [InlineData("close", "Close", true)]
    [InlineData("close", "keep-alive", false)]
    [InlineData("close", "X-A", false)]
    [InlineData("X-A, close", "x-a", true)]
    [InlineData("close,X-B , x-A", "X-A", true)]
    [InlineData("X-A-B", "X-A", false)]
    [InlineData("X-A", "X-A-B", false)]
    [InlineData("a\r\nConnection: X-A", "x-a", true)]
    [InlineData("x-a", "close", false)]
    public void A_listed_field_is_found(string value, string name, bool listed)
    {
        string message = $"GET / HTTP/1.1\r\nHost: a\r\nConnection: {value}\r\n\r\n";
        RequestHeadParser parser = Split.Request(message, out _);

        Assert.Equal(listed, parser.IsListedInConnection(Latin1.Bytes(message), Latin1.Bytes(name)));
    }

    [Fact]
    public void Hop_by_hop_fields_are_the_known_ones_and_the_listed_ones_but_never_framing_or_routing()
    {
        const string Message = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\nX-A: 1\r\nX-B: 2\r\n"
            + "TE: trailers\r\n"
            + "Keep-Alive: 5\r\nUpgrade: x\r\nTrailer: z\r\nConnection: x-a, host, content-length, expect, te\r\n\r\n";
        RequestHeadParser parser = Split.Request(Message, out ParsedHead head);
        byte[] buffer = Latin1.Bytes(Message);

        Assert.Equal(ParseStatus.Done, head.Status);
        var dropped = new List<string>();
        foreach (FieldRange field in parser.Fields)
        {
            if (parser.IsHopByHop(buffer, in field))
            {
                dropped.Add(Latin1.Text(field.Name(buffer)));
            }
        }

        Assert.Equal(["X-A", "TE", "Keep-Alive", "Upgrade", "Connection"], dropped);
    }
}
