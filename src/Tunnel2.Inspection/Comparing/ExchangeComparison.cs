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

    /// <summary>Writes the comparison as an object.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="first">The first exchange.</param>
    /// <param name="second">The other one.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static void Write(Utf8JsonWriter json, ExchangeCapture first, ExchangeCapture second, MaskingRules? rules)
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
        WriteLine(json, first.Request, second.Request, rules);
        WriteFields(json, "fields", first.Request.Fields, second.Request.Fields, rules);
        WriteBodies(
            json, first.RequestBody, BodyView.OfRequest(first, rules), second.RequestBody, BodyView.OfRequest(second, rules));
        WriteFields(json, "trailers", first.RequestTrailers, second.RequestTrailers, rules);
        json.WriteEndObject();
        json.WriteStartObject("response");
        WriteFields(json, "fields", first.Response.Fields, second.Response.Fields, rules);
        WriteBodies(
            json, first.ResponseBody, BodyView.OfResponse(first, rules), second.ResponseBody, BodyView.OfResponse(second, rules));
        WriteFields(json, "trailers", first.ResponseTrailers, second.ResponseTrailers, rules);
        json.WriteEndObject();
        json.WriteEndObject();
    }

    private static void WriteLine(Utf8JsonWriter json, RequestHead first, RequestHead second, MaskingRules? rules)
    {
        if (first.Method.AsSpan().SequenceEqual(second.Method) && first.Target.AsSpan().SequenceEqual(second.Target))
        {
            return;
        }

        json.WriteStartObject("line");
        json.WriteString("first", LineOf(first, rules));
        json.WriteString("second", LineOf(second, rules));
        json.WriteEndObject();
    }

    private static string LineOf(RequestHead head, MaskingRules? rules)
    {
        var target = HeadText.Of(head.Target);
        return $"{HeadText.Of(head.Method)} {(rules is null ? target : rules.OfUrl(target))}";
    }

    private static void WriteBodies(Utf8JsonWriter json, ByteChain firstBody, BodyView a, ByteChain secondBody, BodyView b)
    {
        json.WriteStartObject("body");
        var isSame = a.Length == b.Length && firstBody.ToArray().AsSpan().SequenceEqual(secondBody.ToArray());
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

    private static void WriteLines(Utf8JsonWriter json, BodyView a, BodyView b)
    {
        if (!(a.IsText || a.Kind == BodyKind.Empty) || !(b.IsText || b.Kind == BodyKind.Empty))
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
    private static string Lines(BodyView body)
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

        return body.Text.ReplaceLineEndings("\n");
    }

    private static void WriteFields(
        Utf8JsonWriter json, string member, IReadOnlyList<HeadField> first, IReadOnlyList<HeadField> second, MaskingRules? rules)
    {
        json.WriteStartArray(member);
        var names = first.Concat(second).Select(static field => HeadText.Of(field.Name)).Distinct(StringComparer.OrdinalIgnoreCase);
        foreach (var name in names)
        {
            var (a, b) = (ValuesOf(first, name), ValuesOf(second, name));
            if (a.SequenceEqual(b))
            {
                continue;
            }

            json.WriteStartObject();
            json.WriteString("name", name);
            WriteValues(json, "first", name, a, rules);
            WriteValues(json, "second", name, b, rules);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteValues(Utf8JsonWriter json, string member, string name, string[] values, MaskingRules? rules)
    {
        json.WriteStartArray(member);
        foreach (var value in values)
        {
            json.WriteStringValue(rules is null ? value : rules.OfField(name, value));
        }

        json.WriteEndArray();
    }

    private static string[] ValuesOf(IReadOnlyList<HeadField> fields, string name) =>
    [
        .. fields.Where(field => HeadText.Of(field.Name).Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(static field => HeadText.Of(field.Value)),
    ];
}
