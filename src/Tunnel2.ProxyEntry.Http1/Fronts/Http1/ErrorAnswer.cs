using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>Writes ProxyEntry's own answers as HTTP/1.1.</summary>
internal static class ErrorAnswer
{
    private const int HeadRoom = 2 * 1024;

    /// <summary>The form that the request asks for, from the part of its head that was read.</summary>
    public static ErrorBodyFormat Format(RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        foreach (ref readonly var field in parser.Fields)
        {
            if (field.Known == KnownField.Accept && field.ValueOffset + field.ValueLength <= head.Length)
            {
                return ErrorBodyNegotiation.Choose(field.Value(head));
            }
        }

        return ErrorBodyFormat.ProblemJson;
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
        var writer = new HeadWriter(output.GetSpan(HeadRoom));
        writer.WriteStatusLine(answer.Status, ReasonPhrases.Of(answer.Status));
        writer.WriteField("Date"u8, date);
        Span<byte> name = stackalloc byte[64];
        Span<byte> value = stackalloc byte[512];
        foreach (var (key, text) in answer.Headers)
        {
            writer.WriteField(
                name[..System.Text.Encoding.Latin1.GetBytes(key, name)], value[..System.Text.Encoding.Latin1.GetBytes(text, value)]);
        }

        writer.WriteField("Content-Length"u8, answer.Body.Length);
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
