using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>The trailers of a request, copied from the input. Immutable.</summary>
internal sealed class TrailerSection
{
    private readonly byte[] _bytes;
    private readonly FieldRange[] _fields;

    private TrailerSection(byte[] bytes, FieldRange[] fields)
    {
        _bytes = bytes;
        _fields = fields;
    }

    /// <summary>Copies trailers.</summary>
    /// <param name="fields">The fields.</param>
    /// <param name="input">The bytes to which their ranges refer.</param>
    public static TrailerSection Copy(ReadOnlySpan<FieldRange> fields, ReadOnlySpan<byte> input) => new(input.ToArray(), fields.ToArray());

    /// <summary>Writes the trailers that may be forwarded.</summary>
    /// <param name="writer">The writer.</param>
    /// <param name="parser">The request; names that its Connection field lists are left out of its trailers too.</param>
    /// <param name="head">The bytes of its head.</param>
    /// <param name="edits">What a policy does with fields: what it sets or removes must not come in a trailer.</param>
    public void Write(ref HeaderBlockWriter writer, RequestHeadParser parser, ReadOnlySpan<byte> head, FieldEdits? edits)
    {
        foreach (ref readonly var field in _fields.AsSpan())
        {
            var name = field.Name(_bytes);
            if (FieldRules.OfTrailer(field.Known, name) == FieldRule.Pass
                && !parser.IsListedInConnection(head, name)
                && edits?.Drops(name) != true)
            {
                writer.AddField(name, field.Value(_bytes));
            }
        }
    }
}
