using System.Globalization;
using System.Text.Json;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Exporting;

/// <summary>
/// Writes HAR 1.2, one exchange at a time, so that no more than one is in memory. Members that begin with an underscore are additions,
/// as the format has it; those of WebSockets are Chromium's.
/// </summary>
internal static class HarWriter
{
    /// <summary>Writes a whole file.</summary>
    /// <param name="output">Where to.</param>
    /// <param name="captures">The exchanges, oldest first.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    /// <param name="origin">The public URL of an exchange without a path, for the URLs.</param>
    /// <param name="version">The program's version.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task WriteAsync(
        Stream output,
        IEnumerable<ExchangeCapture> captures,
        MaskingRules? rules,
        Func<ExchangeCapture, string> origin,
        string version,
        CancellationToken cancellationToken)
    {
        await using var json = new Utf8JsonWriter(output, new JsonWriterOptions { Indented = false });
        json.WriteStartObject();
        json.WriteStartObject("log");
        json.WriteString("version", "1.2");
        json.WriteStartObject("creator");
        json.WriteString("name", "tunnel2");
        json.WriteString("version", version);
        json.WriteEndObject();
        json.WriteStartArray("pages");
        json.WriteEndArray();
        json.WriteStartArray("entries");
        foreach (var capture in captures)
        {
            WriteEntry(json, capture, rules, origin(capture));
            await json.FlushAsync(cancellationToken).ConfigureAwait(false);
        }

        json.WriteEndArray();
        json.WriteEndObject();
        json.WriteEndObject();
        await json.FlushAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Writes the entries alone, a line each, for a node that makes one file of those of several nodes.</summary>
    /// <param name="output">Where to.</param>
    /// <param name="captures">The exchanges, oldest first.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    /// <param name="origin">The public URL of an exchange without a path, for the URLs.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task WriteLinesAsync(
        Stream output, IEnumerable<ExchangeCapture> captures, MaskingRules? rules, Func<ExchangeCapture, string> origin,
        CancellationToken cancellationToken)
    {
        await using var json = new Utf8JsonWriter(output, new JsonWriterOptions { Indented = false });
        foreach (var capture in captures)
        {
            WriteEntry(json, capture, rules, origin(capture));
            await json.FlushAsync(cancellationToken).ConfigureAwait(false);
            await output.WriteAsync("\n"u8.ToArray(), cancellationToken).ConfigureAwait(false);
            json.Reset();
        }
    }

    private static void WriteEntry(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules, string origin)
    {
        var legs = ExchangeLegs.Of(capture);
        json.WriteStartObject();
        json.WriteString("startedDateTime", capture.StartedAt.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture));
        json.WriteNumber("time", capture.Duration.TotalMilliseconds);
        WriteRequest(json, capture, rules, origin);
        WriteResponse(json, capture, rules);
        json.WriteStartObject("cache");
        json.WriteEndObject();
        json.WriteStartObject("timings");
        json.WriteNumber("blocked", -1);
        json.WriteNumber("dns", -1);
        json.WriteNumber("connect", legs.Connect.TotalMilliseconds);
        json.WriteNumber("send", legs.Send.TotalMilliseconds);
        json.WriteNumber("wait", legs.Wait.TotalMilliseconds);
        json.WriteNumber("receive", legs.Receive.TotalMilliseconds);
        json.WriteNumber("ssl", -1);
        json.WriteEndObject();
        ExchangeId.Write(json, "_id", capture.Node, capture.Id);
        if (capture.ServiceVersion is { } service)
        {
            json.WriteString("_serviceHttpVersion", service);
        }

        if (capture.Error is { } error)
        {
            json.WriteString("_error", $"{capture.Leg}: {error}");
        }

        if (capture.IsUpgraded)
        {
            WriteMessages(json, capture, rules);
        }

        json.WriteEndObject();
    }

    private static void WriteRequest(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules, string origin)
    {
        var head = capture.Request;
        var target = HeadText.Of(head.Target);
        target = rules is null ? target : rules.OfUrl(target);
        var body = BodyView.Of(capture.RequestBody, head.Fields, rules);
        json.WriteStartObject("request");
        json.WriteString("method", HeadText.Of(head.Method));
        json.WriteString("url", target.StartsWith('/') ? origin + target : $"{origin}/{target}");
        json.WriteString("httpVersion", head.Version);
        WriteFields(json, head.Fields, rules);
        json.WriteStartArray("queryString");
        var query = target.IndexOf('?', StringComparison.Ordinal);
        foreach (var part in query < 0 ? [] : target[(query + 1)..].Split('&', StringSplitOptions.RemoveEmptyEntries))
        {
            var equals = part.IndexOf('=', StringComparison.Ordinal);
            WriteNameAndValue(json, equals < 0 ? part : part[..equals], equals < 0 ? "" : part[(equals + 1)..]);
        }

        json.WriteEndArray();
        if (body.Length > 0 && !capture.IsUpgraded)
        {
            json.WriteStartObject("postData");
            json.WriteString("mimeType", head.Fields.Find("Content-Type"u8) ?? "");
            if (body.Withheld is { } withheld)
            {
                json.WriteString("text", "");
                json.WriteString("comment", withheld);
            }
            else if (IsWrittenAsText(body))
            {
                json.WriteString("text", body.Text);
                WriteTruncation(json, body);
            }
            else
            {
                json.WriteString("text", Convert.ToBase64String(body.Content));
                json.WriteString("_encoding", "base64");
                WriteTruncation(json, body);
            }

            json.WriteEndObject();
        }

        WriteTrailers(json, capture.RequestTrailers, rules);
        json.WriteNumber("headersSize", -1);
        json.WriteNumber("bodySize", capture.IsUpgraded ? 0 : capture.RequestBody.Total);
        json.WriteEndObject();
    }

    private static void WriteResponse(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        var head = capture.Response;
        json.WriteStartObject("response");
        json.WriteNumber("status", head.Status);
        json.WriteString("statusText", HeadText.Of(head.Reason));
        json.WriteString("httpVersion", capture.Request.Version);
        WriteFields(json, head.Fields, rules);
        json.WriteStartObject("content");
        if (capture.IsUpgraded)
        {
            json.WriteNumber("size", 0);
            json.WriteString("mimeType", "x-unknown");
        }
        else
        {
            WriteContent(json, BodyView.Of(capture.ResponseBody, head.Fields, rules), head);
        }

        json.WriteEndObject();
        var location = head.Fields.Find("Location"u8) ?? "";
        json.WriteString("redirectURL", rules is null ? location : rules.OfField("Location", location));
        json.WriteNumber("headersSize", -1);
        json.WriteNumber("bodySize", capture.IsUpgraded ? 0 : capture.ResponseBody.Total);
        WriteTrailers(json, capture.ResponseTrailers, rules);
        json.WriteEndObject();
    }

    private static void WriteContent(Utf8JsonWriter json, BodyView body, ResponseHead head)
    {
        json.WriteNumber("size", body.Decoding is DecodingState.Plain or DecodingState.Unknown ? body.Length : body.Content.Length);
        json.WriteString("mimeType", head.Fields.Find("Content-Type"u8) ?? "");
        if (body.Withheld is { } withheld)
        {
            json.WriteString("comment", withheld);
            return;
        }

        if (IsWrittenAsText(body))
        {
            json.WriteString("text", body.Text);
        }
        else if (body.Content.Length > 0)
        {
            json.WriteBase64String("text", body.Content);
            json.WriteString("encoding", "base64");
        }

        WriteTruncation(json, body);
    }

    /// <summary>Text of another coding than that of JSON is written as its bytes: its reader knows the coding by the type.</summary>
    private static bool IsWrittenAsText(BodyView body) => body is { IsText: true, IsUtf8: true };

    private static void WriteTruncation(Utf8JsonWriter json, BodyView body)
    {
        if (body.IsTruncated)
        {
            json.WriteString("comment", string.Create(CultureInfo.InvariantCulture, $"the first {body.Kept} of {body.Length} bytes"));
        }
    }

    private static void WriteFields(Utf8JsonWriter json, IReadOnlyList<HeadField> fields, MaskingRules? rules)
    {
        HarCookies.Write(json, fields, rules);
        WriteNamesAndValues(json, "headers", fields, rules);
    }

    /// <summary>The format has no place for trailers.</summary>
    private static void WriteTrailers(Utf8JsonWriter json, IReadOnlyList<HeadField> trailers, MaskingRules? rules)
    {
        if (trailers.Count > 0)
        {
            WriteNamesAndValues(json, "_trailers", trailers, rules);
        }
    }

    private static void WriteNamesAndValues(Utf8JsonWriter json, string member, IReadOnlyList<HeadField> fields, MaskingRules? rules)
    {
        json.WriteStartArray(member);
        foreach (var field in fields)
        {
            var (name, value) = (HeadText.Of(field.Name), HeadText.Of(field.Value));
            WriteNameAndValue(json, name, rules is null ? value : rules.OfField(name, value));
        }

        json.WriteEndArray();
    }

    private static void WriteNameAndValue(Utf8JsonWriter json, string name, string value)
    {
        json.WriteStartObject();
        json.WriteString("name", name);
        json.WriteString("value", value);
        json.WriteEndObject();
    }

    private static void WriteMessages(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        json.WriteString("_resourceType", "websocket");
        json.WriteStartArray("_webSocketMessages");
        foreach (var message in capture.Messages.Kept.Where(static message => message.Kind is MessageKind.Text or MessageKind.Binary))
        {
            var view = MessageView.Of(message, rules);
            json.WriteStartObject();
            json.WriteString("type", message.FromVisitor ? "send" : "receive");
            json.WriteNumber("time", (capture.StartedAt + message.After - DateTimeOffset.UnixEpoch).TotalSeconds);
            json.WriteNumber("opcode", message.Kind == MessageKind.Text ? 1 : 2);
            json.WriteString("data", view.Text ?? Convert.ToBase64String(view.Bytes));
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
