using System.Text;

namespace Tunnel2.Client.Services;

/// <summary>How texts are written into systemd's unit files, so that they come out as they went in. Pure.</summary>
internal static class SystemdText
{
    private static readonly UTF8Encoding _strict = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    /// <summary>
    /// Why a text cannot be in a unit, or null. Line breaks and other controls could be written, but no tool that shows a unit would
    /// show them; half characters cannot be written at all.
    /// </summary>
    public static string? MistakeOf(string text)
    {
        if (text.Any(char.IsControl))
        {
            return "has a line break or another control character";
        }

        try
        {
            _strict.GetByteCount(text);
            return null;
        }
        catch (EncoderFallbackException)
        {
            return "has a character that UTF-8 cannot write";
        }
    }

    /// <summary>A word of <c>Environment=</c>, or of <c>ExecStart=</c> for the program itself: in quotes, without specifiers.</summary>
    public static string Word(string text) => Quote(text.Replace("%", "%%", StringComparison.Ordinal));

    /// <summary>An argument of <c>ExecStart=</c>, in which systemd would also put in variables.</summary>
    public static string Argument(string text) => Word(text.Replace("$", "$$", StringComparison.Ordinal));

    /// <summary>A text that takes the rest of its line, such as a path: only specifiers are looked for in it.</summary>
    /// <returns>Null: it would not come out as it is, because of its last character.</returns>
    public static string? Rest(string text) => text is [.., '\\' or ' '] ? null : text.Replace("%", "%%", StringComparison.Ordinal);

    private static string Quote(string text)
    {
        if (text.Length > 0 && text.All(static c => char.IsAsciiLetterOrDigit(c) || "_@/.:,=+-%".Contains(c, StringComparison.Ordinal)))
        {
            return text;
        }

        return $"\"{text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal)}\"";
    }
}
