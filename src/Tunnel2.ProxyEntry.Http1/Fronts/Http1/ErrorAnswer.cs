using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>Writes ProxyEntry's own answers as HTTP/1.1.</summary>
internal static class ErrorAnswer
{
    /// <summary>Bytes for the lines that every answer has.</summary>
    private const int HeadRoom = 2 * 1024;

    /// <summary>Bytes of a field beside its name and value: a colon, a space, CR LF.</summary>
    private const int AroundField = 4;

    /// <summary>Bytes of the longest value that nearly all answers have; a redirect repeats the visitor's target.</summary>
    private const int UsualValue = 512;

    /// <summary>The form that the request asks for, from the part of its head that was read.</summary>
    public static ErrorBodyFormat Format(RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        ReadOnlySpan<byte> contentType = default;
        ReadOnlySpan<byte> accept = default;
        foreach (ref readonly var field in parser.Fields)
        {
            if (field.ValueOffset + field.ValueLength > head.Length)
            {
                continue;
            }

            if (field.Known == KnownField.Accept && accept.IsEmpty)
            {
                accept = field.Value(head);
            }
            else if (field.Known == KnownField.ContentType && contentType.IsEmpty)
            {
                contentType = field.Value(head);
            }
        }

        return ErrorBodyNegotiation.Choose(contentType, accept);
    }

    /// <summary>Whether a request is one of gRPC or gRPC-Web.</summary>
    public static bool IsGrpc(RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        foreach (ref readonly var field in parser.Fields)
        {
            if (field.Known == KnownField.ContentType)
            {
                return ErrorBodyNegotiation.Choose(field.Value(head), default) is ErrorBodyFormat.Grpc or ErrorBodyFormat.GrpcWeb;
            }
        }

        return false;
    }

    /// <summary>Writes an answer.</summary>
    /// <param name="output">The output.</param>
    /// <param name="answer">The answer.</param>
    /// <param name="date">The value of the Date field.</param>
    /// <param name="connection">Header lines about the connection.</param>
    /// <param name="added">Further header lines.</param>
    /// <param name="withBody">False for HEAD.</param>
    public static void Write(
        VisitorOutput output, ErrorResponse answer, ReadOnlySpan<byte> date, ReadOnlySpan<byte> connection, ReadOnlySpan<byte> added,
        bool withBody)
    {
        var (longest, all) = (0, 0);
        foreach (var (key, text) in answer.Headers)
        {
            longest = Math.Max(longest, text.Length);
            all += key.Length + text.Length + AroundField;
        }

        var writer = new HeadWriter(output.GetSpan(HeadRoom + all + added.Length));
        writer.WriteStatusLine(answer.Status, ReasonPhrases.Of(answer.Status));
        writer.WriteField("Date"u8, date);
        Span<byte> name = stackalloc byte[64];
        Span<byte> value = longest <= UsualValue ? stackalloc byte[UsualValue] : new byte[longest];
        foreach (var (key, text) in answer.Headers)
        {
            writer.WriteField(
                name[..System.Text.Encoding.Latin1.GetBytes(key, name)], value[..System.Text.Encoding.Latin1.GetBytes(text, value)]);
        }

        if (answer.Status != StatusCodes.Status204NoContent)
        {
            writer.WriteField("Content-Length"u8, answer.Body.Length);
        }

        writer.WriteCheckedLines(added);
        writer.WriteCheckedLines(connection);
        writer.WriteEnd();
        output.Advance(writer.Written);
        if (withBody)
        {
            output.Write(answer.Body.Span);
        }
    }
}
