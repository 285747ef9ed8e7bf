using System.Text;
using System.Text.Unicode;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Exporting;

/// <summary>A request as a command or a program repeats it. Immutable.</summary>
internal sealed record CopySource
{
    /// <summary>The method.</summary>
    public required string Method { get; init; }

    /// <summary>The public URL without a path; the user's own server gave it, and no visitor.</summary>
    public required string Origin { get; init; }

    /// <summary>The target's bytes.</summary>
    public required byte[] Target { get; init; }

    /// <summary>The fields that the visitor set.</summary>
    public required IReadOnlyList<HeadField> Fields { get; init; }

    /// <summary>The body, as it is sent.</summary>
    public required byte[] Body { get; init; }

    /// <summary>What a reader has to know, or null.</summary>
    public string? Note { get; init; }

    /// <summary>Reads an exchange.</summary>
    /// <param name="capture">The exchange.</param>
    /// <param name="origin">The public URL without a path.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static CopySource Of(ExchangeCapture capture, string origin, MaskingRules? rules)
    {
        var head = capture.Request;
        var raw = capture.RequestBody.ToArray();
        var view = BodyView.Of(capture.RequestBody, head.Fields, rules);

        // What could not be decoded to its end could not be masked either: only what came out is copied.
        var isCut = rules is not null && view.Decoding is DecodingState.Broken or DecodingState.Cut;
        var isMasked = view.IsMasked || view.Withheld is not null || isCut;
        var isUpgraded = capture.IsUpgraded;
        var notes = new List<string>();
        if (view.IsTruncated && !isUpgraded)
        {
            notes.Add("the body is cut off: more came than is kept");
        }

        if (isMasked && !isUpgraded)
        {
            notes.Add(isCut ? "the body could not be decoded to its end: what came out is copied, with its secrets masked"
                : view.Withheld is null ? "secrets in the body are masked"
                : "the body is left out: it cannot be read here, so secrets in it cannot be masked");
        }

        if (capture.RequestTrailers.Count > 0)
        {
            notes.Add("the trailers are left out");
        }

        if (head.Upgrades)
        {
            notes.Add("the request for another protocol is left out");
        }

        var authority = HeadText.Of(head.Authority);
        return new CopySource
        {
            Method = HeadText.Of(head.Method),
            Origin = origin,
            Target = Shown(head.Target, text => rules?.OfUrl(text) ?? text),
            Fields =
            [
                .. head.Fields.Where(field => IsVisitors(field, origin, authority)
                    && !(isMasked && view.Codings.Length > 0 && field.Is("Content-Encoding"u8))).Select(field => Shown(field, rules)),
            ],
            Body = isUpgraded ? [] : isMasked ? view.Content : raw,
            Note = notes.Count == 0 ? null : string.Join("; ", notes),
        };
    }

    /// <summary>
    /// The same for a program that asks the system for addresses: names below <c>localhost</c> are this machine's by their definition (RFC
    /// 6761), and most systems do not know them. curl and browsers do.
    /// </summary>
    public CopySource WithAddress()
    {
        if (!Uri.TryCreate(Origin, UriKind.Absolute, out var origin)
            || origin.Scheme != Uri.UriSchemeHttp
            || !origin.Host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase))
        {
            return this;
        }

        return this with
        {
            Origin = FormattableString.Invariant($"http://127.0.0.1:{origin.Port}"),
            Fields = Fields.Find("Host"u8) is not null ? Fields
                : [new HeadField(HeadText.Bytes("Host"), HeadText.Bytes(origin.Authority)), .. Fields],
        };
    }

    private static HeadField Shown(HeadField field, MaskingRules? rules) =>
        field with { Value = Shown(field.Value, text => rules?.OfField(HeadText.Of(field.Name), text) ?? text) };

    /// <summary>Bytes without their secrets; those of another character set stay the bytes they are.</summary>
    private static byte[] Shown(byte[] bytes, Func<string, string> mask)
    {
        var text = HeadText.Of(bytes);
        var shown = mask(text);
        return shown == text ? bytes : Utf8.IsValid(bytes) ? HeadText.Bytes(shown) : Encoding.Latin1.GetBytes(shown);
    }

    /// <summary>Whether the visitor set a field, and not the tunnel or a client by itself.</summary>
    private static bool IsVisitors(HeadField field, string origin, string authority)
    {
        var name = HeadText.Of(field.Name).ToLowerInvariant();
        return name switch
        {
            // A client writes the length of its body by itself, and none where there is none: some services refuse such a POST (411).
            "content-length" => field.Value is [(byte)'0'],
            "transfer-encoding" or "connection" or "expect" or "forwarded" or "upgrade" => false,
            "x-forwarded-for" or "x-forwarded-host" or "x-forwarded-proto" or "x-forwarded-port" => false,
            "host" => !origin.EndsWith("://" + authority, StringComparison.OrdinalIgnoreCase),
            _ => true,
        };
    }
}
