using System.Text.Json;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>A subscriber's message (docs/live.md): <c>{"op":"subscribe","channel":"session.*.stats","id":"1"}</c>.</summary>
/// <param name="Op">The operation, or null when the message is not valid.</param>
/// <param name="Channel">The channel or pattern.</param>
/// <param name="Id">Returned in the answer; at most 64 characters.</param>
/// <param name="Mistake">The error's code when the message is not valid.</param>
internal readonly record struct ClientMessage(string? Op, string? Channel, string? Id, string? Mistake)
{
    private const int MaxIdLength = 64;

    /// <summary>Reads a message of at most a few kilobytes. Never throws.</summary>
    public static ClientMessage Parse(ReadOnlySpan<byte> utf8)
    {
        string? op = null;
        string? channel = null;
        string? id = null;
        try
        {
            var reader = new Utf8JsonReader(utf8, new JsonReaderOptions { MaxDepth = 4 });
            if (!reader.Read() || reader.TokenType != JsonTokenType.StartObject)
            {
                return Wrong("invalid-json");
            }

            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                var name = reader.GetString();
                reader.Read();
                var value = reader.TokenType == JsonTokenType.String ? reader.GetString() : null;
                reader.Skip();
                switch (name)
                {
                    case "op":
                        op = value;
                        break;
                    case "channel":
                        channel = value;
                        break;
                    case "id":
                        id = value;
                        break;
                }
            }

            if (reader.Read())
            {
                return Wrong("invalid-json");
            }
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            return Wrong("invalid-json");
        }

        return op is not ("subscribe" or "unsubscribe" or "ping") ? Wrong("unknown-op")
            : op != "ping" && channel is null ? Wrong("invalid-channel")
            : id?.Length > MaxIdLength ? Wrong("invalid-id")
            : new ClientMessage(op, channel, id, null);
    }

    private static ClientMessage Wrong(string code) => new(null, null, null, code);
}
