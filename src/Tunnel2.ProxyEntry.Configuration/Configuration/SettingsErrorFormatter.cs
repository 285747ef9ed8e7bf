using System.Globalization;
using System.Text;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Formats mistakes for people at a terminal.</summary>
internal static class SettingsErrorFormatter
{
    /// <summary>The exit code of a process that does not start because of its settings.</summary>
    public const int ExitCode = 2;

    /// <summary>One headline, then one line per mistake, each beginning with its key. Ends with a line break.</summary>
    public static string Format(IReadOnlyList<SettingsError> errors)
    {
        var text = new StringBuilder("tunnel2-entry cannot start: ");
        text.Append(errors.Count == 1
            ? "a setting is wrong."
            : string.Create(CultureInfo.InvariantCulture, $"{errors.Count} settings are wrong."));
        text.Append('\n');
        foreach (var error in errors)
        {
            text.Append("  ").Append(error.Key).Append(": ").Append(error.Message).Append('\n');
        }

        return text.ToString();
    }

    /// <summary>A value in a form that is safe to show: in quotes, without control characters, cut after 80 characters.</summary>
    public static string Quote(string value)
    {
        var text = new StringBuilder("\"");
        foreach (var c in value.Length > 80 ? value.AsSpan(0, 80) : value)
        {
            text.Append(char.IsControl(c) ? '?' : c);
        }

        return text.Append(value.Length > 80 ? "…\"" : "\"").ToString();
    }
}
