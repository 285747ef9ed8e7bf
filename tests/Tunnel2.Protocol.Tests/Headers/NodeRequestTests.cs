using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Headers;

public sealed class NodeRequestTests
{
    private static readonly byte[] _request = [1, 0, 1, (byte)'M', 0, 0, 0, 0, 0, 0, 0];

    [Fact]
    public void What_is_written_is_read()
    {
        var buffer = new byte[1000];
        var length = new NodeRequest
        {
            Hops = 1,
            Facts = NodeRequestFacts.Https | NodeRequestFacts.ExpectsContinue,
            Name = "web"u8,
            Address = [10, 0, 0, 1],
            RequestId = "id"u8,
            Owner = "agent:x"u8,
            ForwardedFor = "10.0.0.2"u8,
        }.WritePrefix(buffer);
        _request.CopyTo(buffer, length);
        Assert.Equal(ProtocolError.None, NodeRequest.TryRead(buffer.AsSpan(0, length + _request.Length), out var read, out var block));
        Assert.Equal((1, NodeRequestFacts.Https | NodeRequestFacts.ExpectsContinue), (read.Hops, read.Facts));
        Assert.Equal("web"u8.ToArray(), read.Name.ToArray());
        Assert.Equal([10, 0, 0, 1], read.Address.ToArray());
        Assert.Equal("id"u8.ToArray(), read.RequestId.ToArray());
        Assert.Equal("agent:x"u8.ToArray(), read.Owner.ToArray());
        Assert.Equal("10.0.0.2"u8.ToArray(), read.ForwardedFor.ToArray());
        Assert.Equal("M"u8.ToArray(), block.Method.ToArray());
        Assert.Equal(_request, read.Block.ToArray());
    }

    [Theory]
    [InlineData("", ProtocolError.MalformedHeaderBlock)]
    [InlineData("040000", ProtocolError.MalformedHeaderBlock)]
    [InlineData("05000008 0100000000000000", ProtocolError.UnexpectedHeaderBlock)]
    [InlineData("04000001 01", ProtocolError.MalformedHeaderBlock)]
    [InlineData("04000009 0100000000000000", ProtocolError.MalformedHeaderBlock)]
    [InlineData("04000007 01000000000000", ProtocolError.MalformedHeaderBlock)] // no room for forwarded for
    [InlineData("04000008 0000000000000000", ProtocolError.MalformedHeaderBlock)] // no hop
    [InlineData("04000008 0200000000000000", ProtocolError.MalformedHeaderBlock)] // a second hop
    [InlineData("04000009 010000010a00000000", ProtocolError.MalformedHeaderBlock)] // an address of one byte
    [InlineData("04000008 0100000000000000 0200 00c8 00 0000", ProtocolError.UnexpectedHeaderBlock)] // a response
    [InlineData("04000008 0100000000000000 0100", ProtocolError.MalformedHeaderBlock)]
    public void Other_bytes_are_refused(string hex, ProtocolError expected)
    {
        var bytes = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        Assert.Equal(expected, NodeRequest.TryRead(bytes, out _, out _));
    }

    [Fact]
    public void Later_facts_are_ignored_and_unknown_bits_too()
    {
        byte[] bytes = [4, 0, 0, 10, 1, 0xF0, 0, 0, 0, 0, 0, 0, 9, 9, .. _request];
        Assert.Equal(ProtocolError.None, NodeRequest.TryRead(bytes, out var read, out _));
        Assert.Equal((NodeRequestFacts)0xF0, read.Facts);
    }

    [Fact]
    public void A_request_without_facts_is_none_of_a_node_link()
    {
        Assert.Equal(ProtocolError.UnexpectedHeaderBlock, NodeRequest.TryReadBlock(_request, out _));
        Assert.Equal(ProtocolError.None, NodeRequest.TryReadBlock([2, 0, 0, 200, 0, 0, 0], out var response));
        Assert.Equal(200, response.Status);
        Assert.Equal(ProtocolError.None, NodeRequest.TryReadBlock([4, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, .. _request], out var request));
        Assert.Equal(HeaderBlockKind.Request, request.Kind);
    }

    [Fact]
    public void What_has_no_room_is_not_written()
    {
        Assert.Equal(0, new NodeRequest { Hops = 1, Name = "web"u8 }.WritePrefix(new byte[14]));
        Assert.Equal(15, new NodeRequest { Hops = 1, Name = "web"u8 }.WritePrefix(new byte[15]));
        Assert.Equal(0, new NodeRequest { Hops = 1, Owner = new byte[256] }.WritePrefix(new byte[1000]));
    }
}
