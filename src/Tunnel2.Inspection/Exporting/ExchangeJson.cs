using System.Text.Json;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Exporting;

/// <summary>
/// Writes exchanges as JSON for the page and for programs. The encoder escapes all that is not plain ASCII, markup too, so that the text is
/// harmless in a terminal and in a page.
/// </summary>
internal static class ExchangeJson
{
    /// <summary>One row of the list.</summary>
    public static void WriteSummary(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        json.WriteStartObject();
        WriteSummaryMembers(json, capture, rules);
        json.WriteEndObject();
    }

    /// <summary>All of an exchange.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="capture">The exchange.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static void WriteDetail(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        var request = capture.Request;
        var response = capture.Response;
        json.WriteStartObject();
        WriteSummaryMembers(json, capture, rules);
        json.WriteBoolean("revealed", rules is null);
        json.WriteStartObject("request");
        json.WriteString("method", HeadText.Of(request.Method));
        json.WriteString("target", Url(HeadText.Of(request.Target), rules));
        json.WriteString("scheme", HeadText.Of(request.Scheme));
        json.WriteString("authority", HeadText.Of(request.Authority));
        json.WriteString("version", request.Version);
        WriteFields(json, "fields", request.Fields, rules);
        WriteBody(json, BodyView.OfRequest(capture, rules));
        WriteFields(json, "trailers", capture.RequestTrailers, rules);
        json.WriteEndObject();
        json.WriteStartObject("response");
        json.WriteNumber("status", response.Status);
        json.WriteString("reason", HeadText.Of(response.Reason));
        if (capture.ServiceVersion is { } version)
        {
            json.WriteString("version", version);
        }

        WriteFields(json, "fields", response.Fields, rules);
        WriteBody(json, BodyView.OfResponse(capture, rules));
        WriteFields(json, "trailers", capture.ResponseTrailers, rules);
        json.WriteEndObject();
        WriteTimes(json, capture);
        WriteMessages(json, capture, rules);
        json.WriteEndObject();
    }

    /// <summary>What kind of exchange it is, in one word.</summary>
    public static string KindOf(ExchangeCapture capture) =>
        !capture.IsUpgraded ? (capture.Response.Fields.MediaType() == "text/event-stream" ? "events" : "http")
        : string.Equals(capture.Response.Fields.Find("Upgrade"u8), "websocket", StringComparison.OrdinalIgnoreCase) ? "websocket"
        : "upgrade";

    private static void WriteSummaryMembers(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        var request = capture.Request;
        ExchangeId.Write(json, "id", capture.Node, capture.Id);
        if (capture.Node is { } node)
        {
            json.WriteString("node", node);
        }

        json.WriteString("startedAt", capture.StartedAt);
        json.WriteString("method", HeadText.Of(request.Method));
        json.WriteString("target", Url(HeadText.Of(request.Target), rules));
        json.WriteString("host", HeadText.Of(request.Authority));
        json.WriteNumber("status", capture.Status);
        json.WriteBoolean("ended", capture.IsEnded);
        json.WriteNumber("durationMs", Milliseconds(capture.Duration));
        json.WriteNumber("requestBytes", capture.RequestBody.Total);
        json.WriteNumber("responseBytes", capture.ResponseBody.Total);
        json.WriteString("type", capture.Response.Fields.MediaType());
        json.WriteString("kind", KindOf(capture));
        if (capture.Service is { } service)
        {
            json.WriteString("service", service);
        }

        if (capture.Error is { } error)
        {
            json.WriteString("leg", capture.Leg);
            json.WriteString("error", error);
        }

        if (capture.Via is { } via)
        {
            ExchangeId.Write(json, "replayOf", capture.Node, capture.ReplayOf);
            json.WriteString("via", via);
        }
    }

    private static void WriteFields(Utf8JsonWriter json, string member, IReadOnlyList<HeadField> fields, MaskingRules? rules)
    {
        json.WriteStartArray(member);
        foreach (var field in fields)
        {
            var (name, value) = (HeadText.Of(field.Name), HeadText.Of(field.Value));
            var shown = rules is null ? value : rules.OfField(name, value);
            json.WriteStartObject();
            json.WriteString("name", name);
            json.WriteString("value", shown);
            if (shown != value)
            {
                json.WriteBoolean("masked", true);
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteBody(Utf8JsonWriter json, BodyView body)
    {
        json.WriteStartObject("body");
        json.WriteNumber("length", body.Length);
        json.WriteNumber("kept", body.Kept);
        json.WriteBoolean("truncated", body.IsTruncated);
        json.WriteString("kind", WordOf(body.Kind));
        json.WriteString("type", body.MediaType);
        json.WriteBoolean("masked", body.IsMasked);
        if (body.Codings.Length > 0)
        {
            json.WriteString("coding", body.Codings);
            json.WriteString("decoding", WordOf(body.Decoding));
            json.WriteNumber("decodedLength", body.Content.Length);
        }

        if (body.Withheld is { } withheld)
        {
            json.WriteString("withheld", withheld);
        }
        else if (body.IsText)
        {
            json.WriteString("text", body.Text);
            json.WriteBoolean("utf8", body.IsUtf8);
        }
        else if (body.Content.Length > 0)
        {
            json.WriteBase64String("base64", body.Content);
        }

        json.WriteEndObject();
    }

    private static void WriteTimes(Utf8JsonWriter json, ExchangeCapture capture)
    {
        var times = capture.Times;
        var legs = ExchangeLegs.Of(capture);
        json.WriteStartObject("timing");
        WriteTime(json, "connectedMs", times.Connected);
        WriteTime(json, "sentMs", times.Sent);
        WriteTime(json, "requestEndedMs", times.RequestEnded);
        WriteTime(json, "answeredMs", times.Answered);
        WriteTime(json, "endedMs", times.Ended);
        json.WriteStartArray("legs");
        WriteLeg(json, "connect", TimeSpan.Zero, legs.Connect);
        WriteLeg(json, "send", legs.Connect, legs.Send);
        WriteLeg(json, "wait", legs.Connect + legs.Send, legs.Wait);
        WriteLeg(json, "receive", legs.Connect + legs.Send + legs.Wait, legs.Receive);
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteLeg(Utf8JsonWriter json, string name, TimeSpan start, TimeSpan length)
    {
        json.WriteStartObject();
        json.WriteString("name", name);
        json.WriteNumber("startMs", Milliseconds(start));
        json.WriteNumber("lengthMs", Milliseconds(length));
        json.WriteEndObject();
    }

    private static void WriteTime(Utf8JsonWriter json, string name, TimeSpan? time)
    {
        if (time is { } at)
        {
            json.WriteNumber(name, Milliseconds(at));
        }
    }

    private static void WriteMessages(Utf8JsonWriter json, ExchangeCapture capture, MaskingRules? rules)
    {
        var (kept, count) = capture.Messages;
        json.WriteNumber("messageCount", count);
        json.WriteStartArray("messages");
        foreach (var message in kept)
        {
            var view = MessageView.Of(message, rules);
            json.WriteStartObject();
            json.WriteNumber("number", message.Number);
            json.WriteString("from", message.FromVisitor ? "visitor" : "service");
            json.WriteString("kind", WordOf(message.Kind));
            json.WriteNumber("atMs", Milliseconds(message.After));
            json.WriteNumber("length", message.Length);
            json.WriteBoolean("truncated", view.IsCut);
            if (view.IsMasked)
            {
                json.WriteBoolean("masked", true);
            }

            if (view.Event is not null)
            {
                json.WriteString("event", view.Event);
            }

            if (view.Note is not null)
            {
                json.WriteString("note", view.Note);
            }

            if (view.Text is not null)
            {
                json.WriteString("text", view.Text);
            }
            else
            {
                json.WriteBase64String("base64", view.Bytes);
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static string Url(string target, MaskingRules? rules) => rules is null ? target : rules.OfUrl(target);

    private static double Milliseconds(TimeSpan time) => Math.Round(time.TotalMilliseconds, 3);

    private static string WordOf<T>(T value)
        where T : struct, Enum => Enum.GetName(value)!.ToLowerInvariant();
}
