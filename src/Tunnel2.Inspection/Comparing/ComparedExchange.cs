using System.Security.Cryptography;
using System.Text.Json;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Comparing;

/// <summary>
/// What a comparison needs of an exchange: texts as they may be shown, and digests that say whether what is masked is the same. So nodes
/// compare exchanges of each other without the secrets in them. Immutable.
/// </summary>
/// <param name="Node">The node that has it; null: it is alone.</param>
/// <param name="Id">Its number there.</param>
/// <param name="Status">The response's status.</param>
/// <param name="Line">Method and target.</param>
/// <param name="Request">The request.</param>
/// <param name="Response">The response.</param>
internal sealed record ComparedExchange(
    string? Node, long Id, int Status, ComparedText Line, ComparedMessage Request, ComparedMessage Response)
{
    /// <summary>The length of a key of digests.</summary>
    public const int KeyLength = 32;

    /// <summary>A key for one comparison: digests of another one say nothing about it.</summary>
    public static byte[] NewKey() => RandomNumberGenerator.GetBytes(KeyLength);

    /// <summary>Reads an exchange.</summary>
    /// <param name="capture">The exchange.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    /// <param name="key">Makes the digests; both exchanges need the same.</param>
    public static ComparedExchange Of(ExchangeCapture capture, MaskingRules? rules, byte[] key)
    {
        var head = capture.Request;
        var target = HeadText.Of(head.Target);
        var method = HeadText.Of(head.Method);
        return new ComparedExchange(
            capture.Node, capture.Id, capture.Status,
            ComparedText.Of($"{method} {target}", $"{method} {(rules is null ? target : rules.OfUrl(target))}", key),
            new ComparedMessage(
                Fields(head.Fields, rules, key), Fields(capture.RequestTrailers, rules, key),
                Body(capture.RequestBody, BodyView.OfRequest(capture, rules), key)),
            new ComparedMessage(
                Fields(capture.Response.Fields, rules, key), Fields(capture.ResponseTrailers, rules, key),
                Body(capture.ResponseBody, BodyView.OfResponse(capture, rules), key)));
    }

    /// <summary>Reads what another node has written; null: it is something else.</summary>
    public static ComparedExchange? Read(ReadOnlySpan<byte> json)
    {
        try
        {
            return JsonSerializer.Deserialize(json, ComparedJson.Default.ComparedExchange);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    /// <summary>Writes it for another node.</summary>
    public void Write(Utf8JsonWriter json) => JsonSerializer.Serialize(json, this, ComparedJson.Default.ComparedExchange);

    private static ComparedField[] Fields(IReadOnlyList<HeadField> fields, MaskingRules? rules, byte[] key) =>
    [
        .. fields.Select(field =>
        {
            var (name, value) = (HeadText.Of(field.Name), HeadText.Of(field.Value));
            return new ComparedField(name, ComparedText.Of(value, rules is null ? value : rules.OfField(name, value), key));
        }),
    ];

    private static ComparedBody Body(ByteChain body, BodyView view, byte[] key) => new(
        view.Length, view.IsTruncated, view.Kind, view.IsUtf8, view.Content, HMACSHA256.HashData(key, body.ToArray()));
}
