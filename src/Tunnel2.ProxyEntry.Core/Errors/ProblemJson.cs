using System.Buffers;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Errors;

/// <summary>Renders an error as <c>application/problem+json</c> (RFC 9457), indented because people read it in terminals.</summary>
internal static class ProblemJson
{
    private static readonly JsonWriterOptions _options = new() { Indented = true };

    /// <summary>The body in UTF-8, ending in a line break. Members beyond the RFC: code, leg, address, requestId, node.</summary>
    public static byte[] Render(ProxyErrorInfo info, in ErrorDetails details)
    {
        var buffer = new ArrayBufferWriter<byte>(512);
        using (var json = new Utf8JsonWriter(buffer, _options))
        {
            json.WriteStartObject();
            json.WriteString("type", "urn:tunnel2:error:" + info.Code);
            json.WriteString("title", info.Title);
            json.WriteNumber("status", info.Status);
            json.WriteString("detail", info.Detail);
            json.WriteString("code", info.Code);
            json.WriteString("leg", info.LegName);
            if (details.Address is not null)
            {
                json.WriteString("address", ErrorResponses.Cut(details.Address));
            }

            if (details.RequestId is not null)
            {
                json.WriteString("requestId", ErrorResponses.Cut(details.RequestId));
            }

            if (details.Node is not null)
            {
                json.WriteString("node", details.Node);
            }

            json.WriteEndObject();
        }

        buffer.Write("\n"u8);
        return buffer.WrittenSpan.ToArray();
    }
}
