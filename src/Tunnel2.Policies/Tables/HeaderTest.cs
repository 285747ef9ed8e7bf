namespace Tunnel2.Policies.Tables;

/// <summary>What a row asks of a field.</summary>
internal enum HeaderTestKind
{
    /// <summary>It is there.</summary>
    Present = 0,

    /// <summary>It is not there.</summary>
    Absent,

    /// <summary>It has this value.</summary>
    Equal,

    /// <summary>Its value has this text in it.</summary>
    Contains,
}

/// <summary>A condition about a field of the request. Immutable.</summary>
/// <param name="Name">The field's name.</param>
/// <param name="Kind">What is asked.</param>
/// <param name="Text">The value, or the part of it; empty where none is asked for.</param>
internal sealed record HeaderTest(string Name, HeaderTestKind Kind, string Text)
{
    /// <summary>Whether the values of the field pass.</summary>
    /// <param name="values">The values, one for each line.</param>
    /// <param name="isStrict">
    /// Whether there may be no doubt: one line, in the case in which the row is written. Otherwise one of the lines, or of their elements
    /// between commas, or all lines together will do, in any case.
    /// </param>
    public bool Passes(string[] values, bool isStrict) => Kind switch
    {
        HeaderTestKind.Present => values.Length > 0,
        HeaderTestKind.Absent => values.Length == 0,
        HeaderTestKind.Equal when isStrict => values is [var only] && only == Text,
        HeaderTestKind.Contains when isStrict => values is [var only] && only.Contains(Text, StringComparison.Ordinal),
        HeaderTestKind.Equal => Array.Exists(values, HasElement) || (values.Length > 1 && HasElement(Join(values))),
        _ => Array.Exists(values, Contains) || (values.Length > 1 && Contains(Join(values))),
    };

    /// <summary>The lines as one, as services make it of them.</summary>
    private string Join(string[] values) =>
        string.Join(Name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) ? "; " : ", ", values);

    private bool Contains(string value) => value.Contains(Text, StringComparison.OrdinalIgnoreCase);

    private bool HasElement(string value)
    {
        if (value.AsSpan().Trim().Equals(Text, StringComparison.OrdinalIgnoreCase))
        {
            return true;
        }

        foreach (var part in value.AsSpan().Split(','))
        {
            if (value.AsSpan(part).Trim().Equals(Text, StringComparison.OrdinalIgnoreCase))
            {
                return true;
            }
        }

        return false;
    }
}
