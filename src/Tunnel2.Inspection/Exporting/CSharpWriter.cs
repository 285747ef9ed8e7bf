using System.Globalization;
using System.Text;
using System.Text.Unicode;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Exporting;

/// <summary>Writes a request as C# for <c>HttpClient</c>.</summary>
internal static class CSharpWriter
{
    private static readonly string[] _capitalized =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];

    /// <summary>Writes the program.</summary>
    /// <param name="source">The request.</param>
    /// <param name="notes">What a reader has to know is added.</param>
    public static string Write(CopySource source, List<string> notes)
    {
        var code = new StringBuilder();
        var target = source.Target is [(byte)'/', ..] ? TargetOf(source.Target) : "/";
        if (!target.AsSpan().SequenceEqual(Encoding.Latin1.GetString(source.Target)))
        {
            notes.Add(target == "/" ? "HttpClient sends no such target, and / replaces it"
                : "HttpClient sends targets of ASCII alone: the other bytes are written as %XX");
        }

        if (_capitalized.Contains(source.Method.ToUpperInvariant()) && source.Method.Any(char.IsAsciiLetterLower))
        {
            notes.Add("HttpClient sends the method in capitals");
        }

        if (source.Fields.DistinctBy(static field => HeadText.Of(field.Name).ToLowerInvariant()).Count() < source.Fields.Count)
        {
            notes.Add("HttpClient joins fields of one name");
        }

        var url = source.Origin + target;
        code.Append("using var client = new HttpClient(new SocketsHttpHandler\n{\n");
        code.Append("    AllowAutoRedirect = false,\n    UseCookies = false,\n");
        if (source.Fields.Any(static field => !Ascii.IsValid(field.Value)))
        {
            // Each character of the values below is a byte.
            code.Append("    RequestHeaderEncodingSelector = (_, _) => System.Text.Encoding.Latin1,\n");
        }

        code.Append("});\n");
        code.Append("using var request = new HttpRequestMessage(\n    new HttpMethod(").Append(Literal(source.Method));
        code.Append("),\n    new Uri(").Append(Literal(url));
        code.Append(", new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true }));\n");

        // Fields of a body are refused, in silence, where there is no content.
        var hasContent = source.Body.Length > 0 || source.Fields.Any(IsOfContent);
        if (hasContent)
        {
            code.Append("request.Content = new ByteArrayContent(");
            code.Append(Utf8.IsValid(source.Body)
                ? $"System.Text.Encoding.UTF8.GetBytes({Literal(Encoding.UTF8.GetString(source.Body))})"
                : $"Convert.FromBase64String({Literal(Convert.ToBase64String(source.Body))})");
            code.Append(");\n");
        }

        foreach (var field in source.Fields)
        {
            var value = Encoding.Latin1.GetString(field.Value);
            var arguments = $"TryAddWithoutValidation({Literal(HeadText.Of(field.Name))}, {Literal(value)});\n";
            code.Append(IsOfContent(field) ? "request.Content.Headers." : "request.Headers.").Append(arguments);
        }

        code.Append("using var response = await client.SendAsync(request);\n");
        code.Append("Console.WriteLine($\"{(int)response.StatusCode} {await response.Content.ReadAsStringAsync()}\");\n");
        return code.ToString();
    }

    private static string TargetOf(byte[] target)
    {
        var text = new StringBuilder(target.Length);
        foreach (var one in target)
        {
            text.Append(Ascii.IsValid(one) ? ((char)one).ToString() : $"%{one:X2}");
        }

        return text.ToString();
    }

    /// <summary>A string literal of visible ASCII only.</summary>
    private static string Literal(string text)
    {
        var literal = new StringBuilder(text.Length + 2).Append('"');
        foreach (var character in text)
        {
            literal.Append(character switch
            {
                '"' => "\\\"",
                '\\' => "\\\\",
                >= ' ' and <= '~' => character.ToString(),
                _ => "\\u" + ((int)character).ToString("x4", CultureInfo.InvariantCulture),
            });
        }

        return literal.Append('"').ToString();
    }

    private static bool IsOfContent(HeadField field) =>
        HeadText.Of(field.Name).StartsWith("Content-", StringComparison.OrdinalIgnoreCase)
        || field.Is("Allow"u8) || field.Is("Expires"u8) || field.Is("Last-Modified"u8);
}
