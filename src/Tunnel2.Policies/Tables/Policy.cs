using System.Collections.Immutable;
using System.Text.Json;

namespace Tunnel2.Policies.Tables;

/// <summary>
/// A table of rows that a request walks through, from the first to the first that ends the walk. A request that comes to the end passes.
/// Immutable.
/// </summary>
/// <param name="Rows">The rows, in order.</param>
/// <param name="Text">The same in JSON without spaces, as it crosses the wire. A value in it may be a secret.</param>
internal sealed record Policy(ImmutableArray<PolicyRow> Rows, ReadOnlyMemory<byte> Text)
{
    /// <summary>The longest <see cref="Text"/>, in bytes.</summary>
    public const int MaxLength = 16 * 1024;

    /// <summary>The longest file, in bytes: it may have spaces and remarks.</summary>
    public const int MaxFileLength = 256 * 1024;

    /// <summary>The maximum number of rows.</summary>
    public const int MaxRows = 64;

    /// <summary>Whether a row asks for the visitor's country.</summary>
    public bool AsksForCountry => Rows.Any(static row => !row.Match.Countries.IsEmpty);

    /// <summary>Whether both are the same table.</summary>
    public bool IsSameAs(Policy? other) => other is not null && Text.Span.SequenceEqual(other.Text.Span);

    /// <summary>The rows of <see cref="Text"/>, in order.</summary>
    public ImmutableArray<ReadOnlyMemory<byte>> ReadRowTexts()
    {
        var rows = ImmutableArray.CreateBuilder<ReadOnlyMemory<byte>>(Rows.Length);
        var reader = new Utf8JsonReader(Text.Span);
        reader.Read();
        while (reader.Read() && reader.TokenType == JsonTokenType.StartObject)
        {
            int start = (int)reader.TokenStartIndex;
            reader.Skip();
            rows.Add(Text[start..(int)reader.BytesConsumed]);
        }

        return rows.ToImmutable();
    }

    /// <summary>How many rows there are.</summary>
    public override string ToString() => FormattableString.Invariant($"{Rows.Length} rows");
}
