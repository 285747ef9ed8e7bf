using System.Globalization;
using System.Text.Json;
using Tunnel2.Http1;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Replays;

/// <summary>
/// Makes the request of a replay. Nothing is sent that differs from what was asked for: a body that is not whole is refused, and so is an
/// edited part that is not HTTP.
/// </summary>
internal static class ReplayPlanner
{
    private const int MaxMethod = 32;
    private const int MaxTarget = 8 * 1024;
    private const int MaxFields = 150;
    private const int MaxHead = 48 * 1024;

    /// <summary>Plans a replay.</summary>
    /// <param name="capture">The exchange.</param>
    /// <param name="edits">
    /// What is changed: <c>method</c>, <c>target</c>, <c>fields</c>, <c>trailers</c>, and <c>body</c> or <c>bodyBase64</c>; null: nothing.
    /// </param>
    /// <param name="request">The request.</param>
    /// <returns>Null, or why not.</returns>
    public static ReplayRefusal? TryPlan(ExchangeCapture capture, JsonElement? edits, out ReplayRequest? request)
    {
        try
        {
            return Plan(capture, edits, out request);
        }
        catch (InvalidOperationException)
        {
            // Escapes of JSON can be half a character, which shows when the text is read.
            request = null;
            return new ReplayRefusal("malformed", "A text of the changes is not Unicode.");
        }
    }

    private static ReplayRefusal? Plan(ExchangeCapture capture, JsonElement? edits, out ReplayRequest? request)
    {
        request = null;
        var head = capture.Request;
        if (capture.IsDropped || head.Method.Length == 0)
        {
            return new ReplayRefusal("gone", "The exchange is no longer kept.");
        }

        if (head.Upgrades)
        {
            return new ReplayRefusal("upgraded", "A connection that was upgraded cannot be replayed: it is more than a request.");
        }

        if (edits is { ValueKind: not JsonValueKind.Object })
        {
            return new ReplayRefusal("malformed", "The changes have to be a JSON object.");
        }

        if (edits is { } given && Misunderstood(given) is { } mistake)
        {
            return new ReplayRefusal("malformed", mistake);
        }

        if (BodyOf(capture, edits, out var body, out var isEdited) is { } refusal)
        {
            return refusal;
        }

        var method = TextOf(edits, "method") is { } newMethod ? HeadText.Bytes(newMethod) : head.Method;
        var target = TextOf(edits, "target") is { } newTarget ? HeadText.Bytes(newTarget) : head.Target;
        if (FieldsOf(head.Fields, edits, "fields", out var fields) is { } fieldRefusal)
        {
            return fieldRefusal;
        }

        if (FieldsOf(capture.RequestTrailers, edits, "trailers", out var trailers) is { } trailerRefusal)
        {
            return trailerRefusal;
        }

        if (trailers.FindIndex(static field => !MayBeTrailer(field)) is >= 0 and var refused)
        {
            return new ReplayRefusal("malformed", $"The field '{HeadText.Of(trailers[refused].Name)}' may not be a trailer.");
        }

        trailers.RemoveAll(static field => RuleOf(field) != FieldRule.Pass);

        if (method.Length > MaxMethod || !FieldSyntax.IsToken(method) || method.AsSpan().SequenceEqual("CONNECT"u8))
        {
            return new ReplayRefusal("malformed", "The method is not one that HTTP allows here.");
        }

        if (target.Length > MaxTarget || !FieldSyntax.IsTarget(target) || !(target[0] == (byte)'/' || target.AsSpan().SequenceEqual("*"u8)))
        {
            return new ReplayRefusal("malformed", "The target is no path with an optional query; spaces and what is not ASCII are %XX.");
        }

        if (fields.Count > MaxFields || LengthOf(fields) > MaxHead || trailers.Count > MaxFields || LengthOf(trailers) > MaxHead)
        {
            return new ReplayRefusal("malformed", "The head is too large.");
        }

        if (trailers.Count > 0)
        {
            // In HTTP/1.1 only a body in chunks has a place for them.
            fields.RemoveAll(static field => field.Is("Content-Length"u8));
        }

        var declared = fields.Any(static field => field.Is("Content-Length"u8));
        var declares = isEdited && trailers.Count == 0;
        var visited = HeadText.Of(head.Authority);
        var host = HostOf(fields);
        var called = host.Length == 0 || host == HostOf(head.Fields) ? visited : host;
        request = new ReplayRequest
        {
            Source = capture.Id,
            Authority = called,
            HasOtherHost = !PublicUrl.AreOfOneHost(called, visited),
            IsSecure = head.IsSecure,
            Method = method,
            Target = target,
            Body = body,
            HasLength = declared || declares,
            Fields = WithLength(fields, body.Length, declared, declares && body.Length > 0),
            Trailers = trailers,
        };
        return null;
    }

    /// <summary>What of the changes cannot be followed: left out, it would send a request that the user did not ask for.</summary>
    private static string? Misunderstood(JsonElement edits)
    {
        foreach (var member in edits.EnumerateObject())
        {
            var isText = member.Name is "method" or "target" or "body" or "bodyBase64";
            if (!isText && member.Name is not ("fields" or "trailers"))
            {
                return $"'{Short(member.Name)}' is unknown here: there are method, target, fields, trailers, and body or bodyBase64.";
            }

            if (isText && member.Value.ValueKind != JsonValueKind.String)
            {
                return $"'{member.Name}' has to be a string.";
            }
        }

        return edits.TryGetProperty("body", out _) && edits.TryGetProperty("bodyBase64", out _) ? "There may be one body only." : null;
    }

    private static string Short(string name) => name.Length <= MaxMethod ? name : name[..MaxMethod] + "…";

    private static ReplayRefusal? BodyOf(ExchangeCapture capture, JsonElement? edits, out byte[] body, out bool isEdited)
    {
        body = [];
        isEdited = true;
        if (TextOf(edits, "body") is { } text)
        {
            body = HeadText.Bytes(text);
            return null;
        }

        if (TextOf(edits, "bodyBase64") is { } base64)
        {
            var bytes = new byte[(base64.Length * 3 / 4) + 3];
            if (!Convert.TryFromBase64String(base64, bytes, out var count))
            {
                return new ReplayRefusal("malformed", "The body is not base64.");
            }

            body = bytes[..count];
            return null;
        }

        isEdited = false;
        if (capture.RequestBody.IsTruncated)
        {
            return new ReplayRefusal(
                "body-truncated",
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"The request's body has {capture.RequestBody.Total} bytes, and only the first {capture.RequestBody.ToArray().Length} "
                        + $"were kept: sent again it would be another request. Give a body to replace it."));
        }

        if (capture.Times.RequestEnded is null)
        {
            return new ReplayRefusal("body-incomplete", "The request's body did not arrive whole, or is still arriving.");
        }

        body = capture.RequestBody.ToArray();
        return null;
    }

    private static ReplayRefusal? FieldsOf(
        IReadOnlyList<HeadField> originals, JsonElement? edits, string member, out List<HeadField> fields)
    {
        fields = [];
        if (edits is not { } given || !given.TryGetProperty(member, out var list))
        {
            fields.AddRange(originals.Where(IsSent));
            return null;
        }

        if (list.ValueKind != JsonValueKind.Array)
        {
            return new ReplayRefusal("malformed", $"The {member} have to be an array.");
        }

        foreach (var item in list.EnumerateArray())
        {
            if (item.ValueKind == JsonValueKind.Object && item.EnumerateObject().Count() != (item.TryGetProperty("keep", out _) ? 1 : 2))
            {
                return new ReplayRefusal("malformed", "A field has a name and a value, or 'keep', and nothing else.");
            }

            // A masked value is not known to the user who edits: the field says which of the original ones it keeps.
            HeadField field;
            if (item.ValueKind == JsonValueKind.Object && item.TryGetProperty("keep", out var keep)
                && keep.ValueKind == JsonValueKind.Number && keep.TryGetInt32(out var index) && index >= 0 && index < originals.Count)
            {
                field = originals[index];
            }
            else if (item.ValueKind == JsonValueKind.Object && TextOf(item, "name") is { } name && TextOf(item, "value") is { } value)
            {
                field = new HeadField(HeadText.Bytes(name), HeadText.Bytes(value.Trim()));
            }
            else
            {
                return new ReplayRefusal("malformed", "A field needs a name and a value.");
            }

            if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
            {
                return new ReplayRefusal("malformed", $"The field '{HeadText.Of(field.Name)}' is not one that HTTP allows.");
            }

            if (fields.Count > MaxFields)
            {
                return new ReplayRefusal("malformed", "There are too many fields.");
            }

            if (IsSent(field))
            {
                fields.Add(field);
            }
        }

        return null;
    }

    /// <summary>Fields of a connection and those that the tunnel writes anew are not sent.</summary>
    private static bool IsSent(HeadField field) => HeadText.Of(field.Name).ToLowerInvariant() is not
        ("connection" or "keep-alive" or "proxy-connection" or "transfer-encoding" or "te" or "trailer" or "upgrade" or "expect"
        or "forwarded" or "x-forwarded-for" or "x-forwarded-host" or "x-forwarded-proto" or "x-forwarded-port" or "http2-settings"
        or "proxy-authorization") && !HeadText.Of(field.Name).StartsWith("tunnel2-", StringComparison.OrdinalIgnoreCase);

    private static string HostOf(IReadOnlyList<HeadField> fields) =>
        HeadText.Of(fields.FirstOrDefault(static field => field.Is("Host"u8)).Value ?? []);

    private static bool MayBeTrailer(HeadField field) =>
        FieldSyntax.IsToken(field.Name) && FieldSyntax.IsFieldValue(field.Value) && RuleOf(field) != FieldRule.Refuse;

    private static FieldRule RuleOf(HeadField field) => FieldRules.OfTrailer(KnownFields.Classify(field.Name), field.Name);

    private static int LengthOf(List<HeadField> fields) => fields.Sum(static field => field.Name.Length + field.Value.Length + 4);

    /// <summary>The declared length is that of the body that is sent.</summary>
    private static List<HeadField> WithLength(List<HeadField> fields, int length, bool isDeclared, bool isNeeded)
    {
        var value = HeadText.Bytes(length.ToString(CultureInfo.InvariantCulture));
        var all = new List<HeadField>(fields.Count + 1);
        var isWritten = false;
        foreach (var field in fields)
        {
            if (!field.Is("Content-Length"u8))
            {
                all.Add(field);
            }
            else if (!isWritten)
            {
                all.Add(field with { Value = value });
                isWritten = true;
            }
        }

        if (!isDeclared && isNeeded)
        {
            all.Add(new HeadField(HeadText.Bytes("Content-Length"), value));
        }

        return all;
    }

    private static string? TextOf(JsonElement? element, string name) =>
        element is { ValueKind: JsonValueKind.Object } given && given.TryGetProperty(name, out var value)
            && value.ValueKind == JsonValueKind.String
            ? value.GetString()
            : null;
}
