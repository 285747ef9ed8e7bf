using System.Text;

namespace Tunnel2.Inspection.Heads;

/// <summary>Looks fields up in their wire order.</summary>
internal static class HeadFields
{
    private static readonly string[] _plain = ["identity", "none"];

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
        MediaTypeOf(fields.Find("Content-Type"u8) ?? "");

    /// <summary>The same of the field's value.</summary>
    public static string MediaTypeOf(string contentType) => contentType.Split(';')[0].Trim().ToLowerInvariant();

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

    /// <summary>
    /// All values of Content-Encoding in their order, with commas; without those that code nothing: <c>identity</c>, and <c>none</c>, with
    /// which many a service of events keeps the servers before it from coding them.
    /// </summary>
    public static string Codings(this IReadOnlyList<HeadField> fields) => string.Join(", ", fields
        .Where(static field => field.Is("Content-Encoding"u8))
        .SelectMany(static field => Encoding.Latin1.GetString(field.Value).Split(','))
        .Select(static coding => coding.Trim())
        .Where(static coding => coding.Length > 0 && !_plain.Contains(coding, StringComparer.OrdinalIgnoreCase)));
}
