using System.Text.Encodings.Web;
using System.Text.Json;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Comparing;

/// <summary>Writes how the responses of two exchanges differ, and how their requests do.</summary>
internal static class ExchangeComparison
{
    /// <summary>For lines that are compared, and then escaped as all other text.</summary>
    private static readonly JsonWriterOptions _readable = new() { Indented = true, Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Writes the comparison of exchanges that are kept here.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="first">The first exchange.</param>
    /// <param name="second">The other one.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static void Write(Utf8JsonWriter json, ExchangeCapture first, ExchangeCapture second, MaskingRules? rules)
    {
        var key = ComparedExchange.NewKey();
        Write(json, ComparedExchange.Of(first, rules, key), ComparedExchange.Of(second, rules, key));
    }

    /// <summary>Writes the comparison as an object.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="first">The first exchange.</param>
    /// <param name="second">The other one, with digests of the same key.</param>
    public static void Write(Utf8JsonWriter json, ComparedExchange first, ComparedExchange second)
    {
        json.WriteStartObject();
        ExchangeId.Write(json, "first", first.Node, first.Id);
        ExchangeId.Write(json, "second", second.Node, second.Id);
        json.WriteStartObject("status");
        json.WriteNumber("first", first.Status);
        json.WriteNumber("second", second.Status);
        json.WriteBoolean("same", first.Status == second.Status);
        json.WriteEndObject();
        json.WriteStartObject("request");
        if (!first.Line.IsSame(second.Line))
        {
            json.WriteStartObject("line");
            json.WriteString("first", first.Line.Shown);
            json.WriteString("second", second.Line.Shown);
            json.WriteEndObject();
        }

        WriteMessage(json, first.Request, second.Request);
        json.WriteEndObject();
        json.WriteStartObject("response");
        WriteMessage(json, first.Response, second.Response);
        json.WriteEndObject();
        json.WriteEndObject();
    }

    private static void WriteMessage(Utf8JsonWriter json, ComparedMessage first, ComparedMessage second)
    {
        WriteFields(json, "fields", first.Fields, second.Fields);
        WriteBodies(json, first.Body, second.Body);
        WriteFields(json, "trailers", first.Trailers, second.Trailers);
    }

    private static void WriteBodies(Utf8JsonWriter json, ComparedBody a, ComparedBody b)
    {
        json.WriteStartObject("body");
        var isSame = a.IsSame(b);
        json.WriteBoolean("same", isSame);
        json.WriteNumber("firstLength", a.Length);
        json.WriteNumber("secondLength", b.Length);
        json.WriteBoolean("truncated", a.IsTruncated || b.IsTruncated);
        if (!isSame)
        {
            json.WriteNumber("firstDifference", a.Content.AsSpan().CommonPrefixLength(b.Content));
            WriteLines(json, a, b);
        }

        json.WriteEndObject();
    }

    private static void WriteLines(Utf8JsonWriter json, ComparedBody a, ComparedBody b)
    {
        if (!a.HasLines || !b.HasLines)
        {
            return;
        }

        if (LineDifference.Of(Lines(a), Lines(b)) is not { } lines)
        {
            json.WriteString("note", "too many lines differ");
            return;
        }

        json.WriteStartArray("lines");
        foreach (var line in lines)
        {
            json.WriteStringValue(line.Sign + line.Text);
        }

        json.WriteEndArray();
    }

    /// <summary>JSON in one line is compared as a person would write it.</summary>
    private static string Lines(ComparedBody body)
    {
        if (body.Kind == BodyKind.Json)
        {
            try
            {
                using var document = JsonDocument.Parse(body.Content, new JsonDocumentOptions { MaxDepth = 64 });
                using var output = new MemoryStream();
                using (var writer = new Utf8JsonWriter(output, _readable))
                {
                    document.WriteTo(writer);
                }

                return HeadText.Of(output.ToArray()).ReplaceLineEndings("\n");
            }
            catch (Exception exception) when (exception is JsonException or InvalidOperationException)
            {
                // Not whole, or not JSON after all: its own lines are compared.
            }
        }

        return BodyView.TextOf(body.Content, body.IsUtf8).ReplaceLineEndings("\n");
    }

    private static void WriteFields(Utf8JsonWriter json, string member, ComparedField[] first, ComparedField[] second)
    {
        json.WriteStartArray(member);
        foreach (var name in first.Concat(second).Select(static field => field.Name).Distinct(StringComparer.OrdinalIgnoreCase))
        {
            var (a, b) = (ValuesOf(first, name), ValuesOf(second, name));
            if (a.Length == b.Length && a.Zip(b).All(static pair => pair.First.IsSame(pair.Second)))
            {
                continue;
            }

            json.WriteStartObject();
            json.WriteString("name", name);
            WriteValues(json, "first", a);
            WriteValues(json, "second", b);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteValues(Utf8JsonWriter json, string member, ComparedText[] values)
    {
        json.WriteStartArray(member);
        foreach (var value in values)
        {
            json.WriteStringValue(value.Shown);
        }

        json.WriteEndArray();
    }

    private static ComparedText[] ValuesOf(ComparedField[] fields, string name) =>
        [.. fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value)];
}
