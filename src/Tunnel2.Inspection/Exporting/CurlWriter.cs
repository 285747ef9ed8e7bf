using System.Text;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Exporting;

/// <summary>Writes a request as a line for curl in bash or zsh.</summary>
internal static class CurlWriter
{
    /// <summary>The longest body that is an argument; Linux allows 128 KiB.</summary>
    private const int LongestArgument = 64 * 1024;

    /// <summary>Writes the line.</summary>
    public static string Write(CopySource source)
    {
        var line = new StringBuilder();
        var isPiped = source.Body.Length > LongestArgument || source.Body.AsSpan().Contains((byte)0);
        if (isPiped)
        {
            line.Append("printf %s ").Append(ShellQuote.OfText(Convert.ToBase64String(source.Body))).Append(" | base64 -d | ");
        }

        // Globs and dots of the path are the visitor's, and no pattern of curl's.
        line.Append("curl --globoff --path-as-is");
        if (source.Method == "HEAD" && source.Body.Length == 0)
        {
            line.Append(" --head");
        }
        else if (source.Method != (source.Body.Length > 0 ? "POST" : "GET"))
        {
            line.Append(" -X ").Append(ShellQuote.OfText(source.Method));
        }

        WriteUrl(line, source);
        foreach (var field in source.Fields)
        {
            line.Append(" -H ");
            line.Append(field.Value.Length == 0
                ? ShellQuote.Of([.. field.Name, (byte)';'])
                : ShellQuote.Of([.. field.Name, (byte)':', (byte)' ', .. field.Value]));
        }

        // What curl adds by itself was not in the request.
        Without(line, source, "User-Agent"u8);
        Without(line, source, "Accept"u8);
        if (source.Fields.Find("Accept-Encoding"u8) is not null)
        {
            line.Append(" --compressed");
        }

        if (source.Body.Length > 0)
        {
            Without(line, source, "Content-Type"u8);
            line.Append(isPiped ? " --data-binary @-" : " --data-raw " + ShellQuote.Of(source.Body));
        }

        return line.ToString();
    }

    private static void WriteUrl(StringBuilder line, CopySource source)
    {
        if (source.Target is [(byte)'/', ..])
        {
            line.Append(' ').Append(ShellQuote.Of([.. HeadText.Bytes(source.Origin), .. source.Target]));
            return;
        }

        line.Append(" --request-target ").Append(ShellQuote.Of(source.Target)).Append(' ').Append(ShellQuote.OfText(source.Origin + "/"));
    }

    private static void Without(StringBuilder line, CopySource source, ReadOnlySpan<byte> name)
    {
        if (source.Fields.Find(name) is null)
        {
            line.Append(" -H ").Append(ShellQuote.Of([.. name, (byte)':']));
        }
    }
}
