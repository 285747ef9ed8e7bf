using System.Globalization;
using System.Text.Json;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Exporting;

/// <summary>
/// Writes the cookies of a head as HAR has them: by name and value, and what <c>Set-Cookie</c> says of them. They are taken from the fields
/// as these are shown, so a value that is masked there is masked here. Stateless.
/// </summary>
internal static class HarCookies
{
    private const string Request = "Cookie";
    private const string Response = "Set-Cookie";

    /// <summary>Writes the member <c>cookies</c>.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="fields">The fields of the head.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static void Write(Utf8JsonWriter json, IReadOnlyList<HeadField> fields, MaskingRules? rules)
    {
        json.WriteStartArray("cookies");
        foreach (var field in fields)
        {
            var name = HeadText.Of(field.Name);
            var isSet = name.Equals(Response, StringComparison.OrdinalIgnoreCase);
            if (!isSet && !name.Equals(Request, StringComparison.OrdinalIgnoreCase))
            {
                continue;
            }

            var value = HeadText.Of(field.Value);
            var parts = (rules is null ? value : rules.OfField(name, value)).Split(';');
            foreach (var part in isSet ? parts.Take(1) : parts)
            {
                if (part.AsSpan().Trim().IsEmpty)
                {
                    continue;
                }

                json.WriteStartObject();
                var (cookie, its) = Pair(part);
                json.WriteString("name", cookie);
                json.WriteString("value", its);
                if (isSet)
                {
                    WriteAttributes(json, parts.AsSpan(1));
                }

                json.WriteEndObject();
            }
        }

        json.WriteEndArray();
    }

    private static void WriteAttributes(Utf8JsonWriter json, ReadOnlySpan<string> parts)
    {
        // Of an attribute that is given twice the last one counts (RFC 6265, section 5.3), and a member is written once.
        string? path = null;
        string? domain = null;
        DateTimeOffset? expires = null;
        var (isHttpOnly, isSecure) = (false, false);
        foreach (var part in parts)
        {
            var (name, value) = Pair(part);
            switch (name.ToLowerInvariant())
            {
                case "path":
                    path = value;
                    break;
                case "domain":
                    domain = value;
                    break;
                case "expires":
                    expires = DateTimeOffset.TryParse(value, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out var end)
                        ? end
                        : null;
                    break;
                case "" when value.Equals("httponly", StringComparison.OrdinalIgnoreCase):
                    isHttpOnly = true;
                    break;
                case "" when value.Equals("secure", StringComparison.OrdinalIgnoreCase):
                    isSecure = true;
                    break;
                default:
                    break;
            }
        }

        if (path is not null)
        {
            json.WriteString("path", path);
        }

        if (domain is not null)
        {
            json.WriteString("domain", domain);
        }

        if (expires is { } moment)
        {
            json.WriteString("expires", moment.UtcDateTime);
        }

        json.WriteBoolean("httpOnly", isHttpOnly);
        json.WriteBoolean("secure", isSecure);
    }

    /// <summary>A name and a value; without an equals sign all is the value, as browsers read it.</summary>
    private static (string Name, string Value) Pair(string part)
    {
        var equals = part.IndexOf('=', StringComparison.Ordinal);
        return equals < 0 ? ("", part.Trim()) : (part[..equals].Trim(), part[(equals + 1)..].Trim());
    }
}
