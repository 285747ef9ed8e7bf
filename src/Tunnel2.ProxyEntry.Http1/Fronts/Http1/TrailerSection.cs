using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>The trailers of a request, copied out of what they came in. Immutable.</summary>
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
    /// <param name="input">What they are relative to.</param>
    public static TrailerSection Copy(ReadOnlySpan<FieldRange> fields, ReadOnlySpan<byte> input) => new(input.ToArray(), fields.ToArray());

    /// <summary>Writes those that may be passed on.</summary>
    /// <param name="writer">Where to.</param>
    /// <param name="parser">The request; a name that its Connection lists ends here in its trailers, too.</param>
    /// <param name="head">What it was parsed from.</param>
    public void Write(ref HeaderBlockWriter writer, RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        foreach (ref readonly var field in _fields.AsSpan())
        {
            var name = field.Name(_bytes);
            if (FieldRules.OfTrailer(field.Known, name) == FieldRule.Pass && !parser.IsListedInConnection(head, name))
            {
                writer.AddField(name, field.Value(_bytes));
            }
        }
    }
}
