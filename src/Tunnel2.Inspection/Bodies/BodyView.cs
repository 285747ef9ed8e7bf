using System.Text;
using System.Text.Json;
using System.Text.Unicode;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Bodies;

/// <summary>
/// A body as it may leave the process: decoded, its secrets masked unless they are wanted. What cannot be masked because it cannot be read
/// is withheld. Immutable.
/// </summary>
internal sealed record BodyView
{
    /// <summary>How many bytes a coded body is decoded to at most.</summary>
    public const int DecodedLimit = 1024 * 1024;

    private static readonly string[] _images =
        ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon"];

    /// <summary>The true length on the wire.</summary>
    public long Length { get; private init; }

    /// <summary>How many of these bytes are kept.</summary>
    public int Kept { get; private init; }

    /// <summary>Whether there were more than are kept.</summary>
    public bool IsTruncated => Kept < Length;

    /// <summary>The codings, or empty.</summary>
    public string Codings { get; private init; } = "";

    /// <summary>How decoding went.</summary>
    public DecodingState Decoding { get; private init; }

    /// <summary>Whether nothing of it could be decoded: the content is what came.</summary>
    private bool IsUndecoded { get; init; }

    /// <summary>What it is.</summary>
    public BodyKind Kind { get; private init; }

    /// <summary>The media type.</summary>
    public string MediaType { get; private init; } = "";

    /// <summary>The content, decoded and masked.</summary>
    public byte[] Content { get; private init; } = [];

    /// <summary>Whether something is masked in it.</summary>
    public bool IsMasked { get; private init; }

    /// <summary>Why it is not shown at all, or null.</summary>
    public string? Withheld { get; private init; }

    /// <summary>Whether its text is UTF-8, as far as it is kept.</summary>
    public bool IsUtf8 { get; private init; } = true;

    /// <summary>Whether it is text, of any kind.</summary>
    public bool IsText => IsTextual(Kind);

    /// <summary>The content as text; what is not UTF-8 is read byte for byte.</summary>
    public string Text => TextOf(Content, IsUtf8);

    /// <summary>Whether a kind is text.</summary>
    public static bool IsTextual(BodyKind kind) => kind is BodyKind.Json or BodyKind.Form or BodyKind.Text or BodyKind.Multipart;

    /// <summary>Content as text.</summary>
    public static string TextOf(byte[] content, bool isUtf8) =>
        isUtf8 ? Encoding.UTF8.GetString(content) : Encoding.Latin1.GetString(content);

    /// <summary>The body of an exchange's request.</summary>
    /// <param name="capture">The exchange.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    /// <param name="limit">How many bytes of it are looked at.</param>
    public static BodyView OfRequest(ExchangeCapture capture, MaskingRules? rules, int limit = DecodedLimit) =>
        Of(capture.RequestBody, capture.Request.Fields, rules, limit).WithoutFrames(capture, rules);

    /// <summary>The body of its response.</summary>
    /// <inheritdoc cref="OfRequest"/>
    public static BodyView OfResponse(ExchangeCapture capture, MaskingRules? rules, int limit = DecodedLimit) =>
        Of(capture.ResponseBody, capture.Response.Fields, rules, limit).WithoutFrames(capture, rules);

    /// <summary>Makes the view.</summary>
    /// <param name="chain">The body.</param>
    /// <param name="fields">The fields of its message.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    /// <param name="limit">How many bytes of it are looked at.</param>
    public static BodyView Of(ByteChain chain, IReadOnlyList<HeadField> fields, MaskingRules? rules, int limit = DecodedLimit)
    {
        var raw = chain.ToArray();
        var codings = fields.Codings();
        var content = ContentDecoder.Decode(raw, codings, limit, out var decoding);
        var isWhole = decoding is (DecodingState.Plain or DecodingState.Whole) && content.Length <= limit && chain.Total <= raw.Length;
        // Services exist that name a coding and send the body as it is.
        var isUndecoded = content.Length == 0 && decoding == DecodingState.Broken;
        if (isUndecoded)
        {
            content = raw;
        }

        if (content.Length > limit)
        {
            content = content[..limit];
        }

        var mediaType = fields.MediaType();
        var view = new BodyView
        {
            Length = Math.Max(chain.Total, raw.Length),
            Kept = raw.Length,
            Codings = codings,
            Decoding = decoding,
            IsUndecoded = isUndecoded,
            MediaType = mediaType,
            Kind = KindOf(mediaType, content, decoding),
            Content = content,
            IsUtf8 = isWhole ? Utf8.IsValid(content) : IsUtf8Beginning(content),
        };
        return rules is null ? view : view.Masked(rules, fields);
    }

    /// <summary>The bytes of an upgraded connection cannot be masked; its messages are.</summary>
    private BodyView WithoutFrames(ExchangeCapture capture, MaskingRules? rules) => rules is null || !capture.IsUpgraded || Kept == 0
        ? this
        : this with { Content = [], Withheld = "These are the bytes of an upgraded connection: secrets in them cannot be masked." };

    private BodyView Masked(MaskingRules rules, IReadOnlyList<HeadField> fields)
    {
        if (Kept == 0)
        {
            return this;
        }

        if (Decoding == DecodingState.Unknown || (IsUndecoded && Kind == BodyKind.Binary))
        {
            return this with { Content = [], Withheld = $"The coding '{Codings}' cannot be read here, so secrets in it cannot be masked." };
        }

        if (Kind == BodyKind.Binary && IsTextual(MediaType))
        {
            return this with { Content = [], Withheld = $"This is no readable {MediaType}, so secrets in it cannot be masked." };
        }

        // The type is what its sender says: a client may forget the boundary, or name another type.
        var view = this;
        var isPartMasked = false;
        var boundary = IsText ? MultipartMask.BoundaryOf(Content, fields.MediaParameter("boundary")) : null;
        if (boundary is not null)
        {
            view = this with { Content = MultipartMask.Apply(Content, boundary, rules, out isPartMasked) };
        }

        view = view.MaskedByKind(rules, hasParts: boundary is not null);
        return view with { IsMasked = view.IsMasked || isPartMasked };
    }

    private BodyView MaskedByKind(MaskingRules rules, bool hasParts)
    {
        switch (Kind)
        {
            case BodyKind.Form:
                // A form is ASCII; Latin-1 keeps what is not.
                var form = Encoding.Latin1.GetString(Content);
                var shown = rules.OfForm(form);

                // Clients send JSON and XML under this type too, and it may be cut off.
                var plain = Encoding.Latin1.GetBytes(shown);
                var isTagMasked = false;
                plain = MaskingRules.IsLikeXml(plain) ? XmlMask.Apply(plain, rules, out isTagMasked) : plain;
                var bytes = JsonMask.Apply(plain, rules, out var isNameMasked);
                return this with { Content = bytes, IsMasked = isNameMasked || isTagMasked || shown != form };
            case BodyKind.Multipart when hasParts:
                var json = JsonMask.Apply(Content, rules, out var isKeyMasked);
                return this with { Content = json, IsMasked = isKeyMasked };
            case BodyKind.Text when MediaType.EndsWith("xml", StringComparison.Ordinal):
                var elements = rules.OfXml(Content, out var isElementMasked);
                return this with { Content = elements, IsMasked = isElementMasked };
            case BodyKind.Json when IsJson(Content):
            case BodyKind.Text when IsSource(MediaType):
                var isPairMasked = false;
                var source = MediaType == "text/html" ? TagPairMask.Apply(Content, rules, out isPairMasked) : Content;
                var masked = JsonMask.Apply(source, rules, out var isMasked);
                return this with { Content = masked, IsMasked = isMasked || isPairMasked };
            case BodyKind.Text when MediaType is "text/csv" or "text/tab-separated-values":
                var table = Encoding.Latin1.GetString(Content);
                var columns = CsvMask.Apply(table, rules);
                var rows = rules.OfLines(Encoding.Latin1.GetBytes(columns), out var isRowMasked);
                return this with { Content = rows, IsMasked = isRowMasked || columns != table };
            case BodyKind.Json or BodyKind.Text or BodyKind.Multipart:
                // A bracket also begins settings and logs: only JSON that is whole is surely JSON.
                var lines = rules.OfLines(Content, out var isLineMasked);
                return this with { Content = lines, IsMasked = isLineMasked };
            default:
                return this;
        }
    }

    /// <summary>Whether a type is one of text, in which secrets are found only where the text can be read.</summary>
    private static bool IsTextual(string mediaType) =>
        mediaType.StartsWith("text/", StringComparison.Ordinal)
        || mediaType.Contains("form-", StringComparison.Ordinal)
        || mediaType.EndsWith("json", StringComparison.Ordinal)
        || mediaType.EndsWith("xml", StringComparison.Ordinal)
        || mediaType.EndsWith("yaml", StringComparison.Ordinal);

    /// <summary>Whether lines of a type are code: a name and a value in them are no setting.</summary>
    private static bool IsSource(string mediaType) =>
        mediaType is "text/html" or "text/css" or "application/graphql" || mediaType.EndsWith("javascript", StringComparison.Ordinal);

    private static BodyKind KindOf(string mediaType, byte[] content, DecodingState decoding)
    {
        if (content.Length == 0)
        {
            return BodyKind.Empty;
        }

        if (decoding == DecodingState.Unknown)
        {
            return BodyKind.Binary;
        }

        // No picture is UTF-8 without a zero: what is, only says that it is one.
        if (_images.Contains(mediaType) && (content.AsSpan().Contains((byte)0) || !IsUtf8Beginning(content)))
        {
            return BodyKind.Image;
        }

        if (content.AsSpan().Contains((byte)0))
        {
            return BodyKind.Binary;
        }

        // A form stays one with any beginning, unless it is JSON: its fields have names that only its own rules find.
        var first = content.AsSpan().TrimStart(" \t\r\n"u8);
        return mediaType switch
        {
            "application/x-www-form-urlencoded" => first is [(byte)'{' or (byte)'[', ..] && IsJson(content) ? BodyKind.Json : BodyKind.Form,
            "multipart/form-data" => BodyKind.Multipart,
            _ when mediaType.EndsWith("json", StringComparison.Ordinal)
                || (first is [(byte)'{' or (byte)'[', ..] && IsUtf8Beginning(content)) => BodyKind.Json,
            _ when mediaType.StartsWith("text/", StringComparison.Ordinal) => BodyKind.Text,
            _ when mediaType.EndsWith("xml", StringComparison.Ordinal) || mediaType.EndsWith("javascript", StringComparison.Ordinal) =>
                BodyKind.Text,
            _ when mediaType.StartsWith("multipart/", StringComparison.Ordinal) => BodyKind.Text,
            _ => IsUtf8Beginning(content) ? BodyKind.Text : BodyKind.Binary,
        };
    }

    private static bool IsJson(ReadOnlySpan<byte> content)
    {
        try
        {
            var reader = new Utf8JsonReader(content);
            while (reader.Read())
            {
            }

            return true;
        }
        catch (JsonException)
        {
            return false;
        }
    }

    /// <summary>Whether bytes are UTF-8 that may be cut off within its last character.</summary>
    internal static bool IsUtf8Beginning(ReadOnlySpan<byte> bytes)
    {
        for (var cut = 1; cut <= 3 && cut <= bytes.Length; cut++)
        {
            // The first byte of a character says how many it has.
            var needed = bytes[^cut] switch { >= 0xC2 and < 0xE0 => 2, >= 0xE0 and < 0xF0 => 3, >= 0xF0 and < 0xF5 => 4, _ => 0 };
            if (needed > cut && Utf8.IsValid(bytes[..^cut]))
            {
                return true;
            }
        }

        return Utf8.IsValid(bytes);
    }
}
