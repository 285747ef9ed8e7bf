using Tunnel2.Http1;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Heads;

/// <summary>Trailers as a block of the wire: they are kept so and read when they are looked at.</summary>
internal static class TrailerBlock
{
    /// <summary>Bytes of a block without fields: kind, flags, count.</summary>
    private const int Empty = 4;

    /// <summary>Bytes of a field beyond its name and value: their lengths.</summary>
    private const int PerField = 4;

    /// <summary>The block of trailers that a parser found, with those too that are not forwarded; empty where it has no room.</summary>
    /// <param name="trailers">The trailers.</param>
    /// <param name="bytes">What they refer to.</param>
    public static byte[] Of(ReadOnlySpan<FieldRange> trailers, ReadOnlySpan<byte> bytes)
    {
        var size = Empty;
        foreach (ref readonly var field in trailers)
        {
            size += PerField + field.NameLength + field.ValueLength;
        }

        var block = new byte[size];
        var writer = new HeaderBlockWriter(block);
        writer.BeginTrailers();
        foreach (ref readonly var field in trailers)
        {
            writer.AddField(field.Name(bytes), field.Value(bytes));
        }

        var length = writer.Complete();
        return writer.Overflowed || writer.HasTooManyFields ? [] : block[..length];
    }

    /// <summary>The block of given fields; empty where it has no room.</summary>
    public static byte[] Of(IReadOnlyList<HeadField> fields)
    {
        var block = new byte[Empty + fields.Sum(static field => PerField + field.Name.Length + field.Value.Length)];
        var writer = new HeaderBlockWriter(block);
        writer.BeginTrailers();
        foreach (var field in fields)
        {
            writer.AddField(field.Name, field.Value);
        }

        var length = writer.Complete();
        return writer.Overflowed || writer.HasTooManyFields ? [] : block[..length];
    }

    /// <summary>The fields of a block, in their order; none where it is not one of trailers.</summary>
    public static IReadOnlyList<HeadField> Read(ReadOnlySpan<byte> bytes)
    {
        if (HeaderBlock.TryRead(bytes, out var block) != ProtocolError.None || block.Kind != HeaderBlockKind.Trailers)
        {
            return [];
        }

        var fields = new List<HeadField>(block.Fields.Count);
        foreach (var field in block.Fields)
        {
            fields.Add(new HeadField(field.Name.ToArray(), field.Value.ToArray()));
        }

        return fields;
    }
}
