using System.Text.Json;
using System.Text.Json.Serialization;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>
/// A moment as RFC 3339 has it: with a date, a time and an offset. Without an offset it would be one of the zone that the server happens
/// to be in. Stateless.
/// </summary>
internal sealed class MomentConverter : JsonConverter<DateTimeOffset>
{
    /// <inheritdoc/>
    public override DateTimeOffset Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.TokenType == JsonTokenType.String
            && reader.TryGetDateTimeOffset(out var moment)
            && reader.GetString() is { } text
            && text.IndexOf('T', StringComparison.Ordinal) is > 0 and var time
            && text.AsSpan(time).ContainsAny("Z+-")
            ? moment
            : throw new JsonException();

    /// <inheritdoc/>
    public override void Write(Utf8JsonWriter writer, DateTimeOffset value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value);
}
