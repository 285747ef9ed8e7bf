namespace Tunnel2.Http2.Hpack;

/// <summary>What is left of a header block that is too large; see <see cref="HpackShortener"/>.</summary>
/// <param name="Bytes">Above so many bytes a block is too large: texts and fields of their own are shortened from there on.</param>
/// <param name="Fields">Above so many fields too.</param>
/// <param name="StandIn">Bytes of what replaces a long text; more than the table of compression holds.</param>
/// <param name="Mark">Bytes of the value that ends a shortened block; more than a head may have.</param>
internal sealed record HpackShortenerLimits(int Bytes, int Fields, int StandIn, int Mark);
