using System.Text;

namespace Tunnel2.Inspection.Heads;

/// <summary>Looks fields up in their wire order.</summary>
internal static class HeadFields
{
    /// <summary>The first value of a field, or null.</summary>
    public static string? Find(this IReadOnlyList<HeadField> fields, ReadOnlySpan<byte> name)
    {
        foreach (var field in fields)
        {
            if (field.Is(name))
            {
                return HeadText.Of(field.Value);
            }
        }

        return null;
    }

    /// <summary>The media type of a message without its parameters, in lower case; empty where there is none.</summary>
    public static string MediaType(this IReadOnlyList<HeadField> fields) =>
        (fields.Find("Content-Type"u8) ?? "").Split(';')[0].Trim().ToLowerInvariant();

    /// <summary>A parameter of Content-Type, or null.</summary>
    public static string? MediaParameter(this IReadOnlyList<HeadField> fields, string name)
    {
        foreach (var part in (fields.Find("Content-Type"u8) ?? "").Split(';').Skip(1))
        {
            var equals = part.IndexOf('=', StringComparison.Ordinal);
            if (equals > 0 && part[..equals].Trim().Equals(name, StringComparison.OrdinalIgnoreCase))
            {
                return part[(equals + 1)..].Trim().Trim('"');
            }
        }

        return null;
    }

    /// <summary>All values of Content-Encoding in their order, with commas.</summary>
    public static string Codings(this IReadOnlyList<HeadField> fields)
    {
        var codings = new StringBuilder();
        foreach (var field in fields.Where(static field => field.Is("Content-Encoding"u8)))
        {
            codings.Append(codings.Length > 0 ? "," : "").Append(Encoding.Latin1.GetString(field.Value));
        }

        return codings.ToString();
    }
}
