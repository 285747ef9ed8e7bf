using System.Text;
using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Replays;

/// <summary>Writes the bytes of a replay.</summary>
internal static class ReplayMessage
{
    private const int HeadBuffer = 128 * 1024;

    /// <summary>The request as a visitor of the public URL sends it.</summary>
    /// <param name="request">The request.</param>
    /// <param name="url">The public URL. A Host that is not its own would lead to another tunnel.</param>
    /// <returns>The bytes; null where it is not HTTP.</returns>
    public static byte[]? ForVisitor(ReplayRequest request, Uri url)
    {
        var buffer = new byte[HeadBuffer];
        var writer = new HeadWriter(buffer);
        writer.WriteRequestLine(request.Method, request.Target);
        var hasHost = false;
        foreach (var field in request.Fields)
        {
            if (!field.Is("Host"u8))
            {
                writer.WriteField(field.Name, field.Value);
            }
            else if (!hasHost)
            {
                hasHost = true;
                writer.WriteField(field.Name, IsOwn(HeadText.Of(field.Value), url) ? field.Value : Encoding.ASCII.GetBytes(url.Authority));
            }
        }

        if (!hasHost)
        {
            writer.WriteField("Host"u8, Encoding.ASCII.GetBytes(url.Authority));
        }

        if (IsChunked(request))
        {
            writer.WriteCheckedLines("Transfer-Encoding: chunked\r\n"u8);
        }

        return writer.WriteEnd() == HeadWriteStatus.Ok ? [.. buffer.AsSpan(0, writer.Written), .. BodyOf(request)] : null;
    }

    /// <summary>The request's block, as the wire has it; empty where it does not fit.</summary>
    public static byte[] BlockOf(ReplayRequest request)
    {
        var buffer = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(buffer);
        var host = request.Fields.FirstOrDefault(static field => field.Is("Host"u8)).Value ?? [];
        writer.BeginRequest(HeaderBlockFlags.None, request.Method, "http"u8, host, request.Target);
        foreach (var field in request.Fields)
        {
            writer.AddField(field.Name, field.Value);
        }

        var length = writer.Complete();
        return writer.Overflowed || writer.HasTooManyFields ? [] : buffer[..length];
    }

    /// <summary>Whether its body is sent in chunks, because no length is declared.</summary>
    public static bool IsChunked(ReplayRequest request) => (request.Body.Length > 0 || request.Trailers.Count > 0) && !HasLength(request);

    /// <summary>Whether a length is declared.</summary>
    public static bool HasLength(ReplayRequest request) => request.Fields.Any(static field => field.Is("Content-Length"u8));

    /// <summary>The bytes after the head.</summary>
    public static byte[] BodyOf(ReplayRequest request)
    {
        if (!IsChunked(request))
        {
            return request.Body;
        }

        using var bytes = new MemoryStream();
        if (request.Body.Length > 0)
        {
            bytes.Write(Encoding.ASCII.GetBytes($"{request.Body.Length:x}\r\n"));
            bytes.Write(request.Body);
            bytes.Write("\r\n"u8);
        }

        bytes.Write("0\r\n"u8);
        foreach (var field in request.Trailers)
        {
            bytes.Write(field.Name);
            bytes.Write(": "u8);
            bytes.Write(field.Value);
            bytes.Write("\r\n"u8);
        }

        bytes.Write("\r\n"u8);
        return bytes.ToArray();
    }

    private static bool IsOwn(string host, Uri url) => PublicUrl.AreOfOneHost(host, url.Authority);
}
