using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Headers;

/// <summary>A header block's content, of any kind.</summary>
internal sealed record BlockSample(
    HeaderBlockKind Kind, HeaderBlockFlags Flags, byte[] Method, byte[] Scheme, byte[] Authority, byte[] Target, int Status, byte[] Reason,
    (byte[] Name, byte[] Value)[] Fields)
{
    private static readonly byte[][] _names =
    [
        .. new[] { "Set-Cookie", "set-cookie", "X", "", "Host" }.Select(System.Text.Encoding.ASCII.GetBytes),
    ];

    public static Gen<BlockSample> Any { get; } =
        from kind in Gen.Elements(HeaderBlockKind.Request, HeaderBlockKind.Response, HeaderBlockKind.Trailers)
        from flags in Gen.Elements(HeaderBlockFlags.None, HeaderBlockFlags.Upgrade, (HeaderBlockFlags)0xFF)
        from method in Property.Bytes(1, 20)
        from scheme in Property.Bytes(0, 20)
        from authority in Property.Bytes(0, 300)
        from target in Property.Bytes(0, 600)
        from status in Gen.Choose(100, 999)
        from reason in Property.Bytes(0, 255)
        from count in Gen.Frequency((8, Gen.Choose(0, 20)), (1, Gen.Choose(190, 200)))
        from fields in Field.ArrayOf(count)
        select new BlockSample(kind, flags, method, scheme, authority, target, status, reason, fields);

    private static Gen<(byte[] Name, byte[] Value)> Field =>
        from name in Gen.OneOf(Gen.Elements(_names), Property.Bytes(0, 40))
        from value in Gen.OneOf(Gen.Constant(Array.Empty<byte>()), Property.Bytes(0, 100))
        select (name, value);

    public void Write(ref HeaderBlockWriter writer)
    {
        switch (Kind)
        {
            case HeaderBlockKind.Request:
                writer.BeginRequest(Flags, Method, Scheme, Authority, Target);
                break;
            case HeaderBlockKind.Response:
                writer.BeginResponse(Flags, Status, Reason);
                break;
            default:
                writer.BeginTrailers();
                break;
        }

        foreach (var (name, value) in Fields)
        {
            writer.AddField(name, value);
        }
    }

    public byte[] ToBytes()
    {
        var buffer = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(buffer);
        Write(ref writer);
        var length = writer.Complete();
        Assert.False(writer.Overflowed);
        Assert.False(writer.HasTooManyFields);
        Assert.Equal(length, writer.Length);
        return buffer[..length];
    }
}
