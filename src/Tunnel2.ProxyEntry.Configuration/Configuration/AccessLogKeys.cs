using System.Globalization;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The keys of the access log, and the checks of their values.</summary>
internal static class AccessLogKeys
{
    public const string Mode = "AccessLog:Mode";
    public const string Format = "AccessLog:Format";
    public const string Path = "AccessLog:Path";
    public const string SampleRate = "AccessLog:SampleRate";
    public const string MaxFileBytes = "AccessLog:MaxFileBytes";
    public const string MaxFiles = "AccessLog:MaxFiles";
    public const string Query = "AccessLog:Query";

    private const int MostFiles = 1000;

    public static IReadOnlyList<SettingKey> All { get; } =
    [
        new(Mode, (o, v) => ApplyWord<AccessLogMode>(v, "a mode; use off, sampled or full.", mode => o.AccessLog.Mode = mode)),
        new(Format, (o, v) => ApplyWord<AccessLogFormat>(v, "a format; use json or text.", format => o.AccessLog.Format = format)),
        new(Path, (o, v) =>
        {
            o.AccessLog.Path = v.Trim();
            return null;
        }),
        new(SampleRate, (o, v) =>
        {
            var isNumber = double.TryParse(v.Trim(), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var rate);
            o.AccessLog.SampleRate = isNumber ? rate : o.AccessLog.SampleRate;
            return isNumber ? null : $"{SettingsErrorFormatter.Quote(v)} is not a number such as 0.01.";
        }),
        new(MaxFileBytes, (o, v) =>
        {
            var isSize = TryParseSize(v, out var size);
            o.AccessLog.MaxFileBytes = isSize ? size : o.AccessLog.MaxFileBytes;
            return isSize ? null : $"{SettingsErrorFormatter.Quote(v)} is not a size; use a number of bytes, or one with KB, MB or GB (of 1024).";
        }),
        new(MaxFiles, (o, v) =>
        {
            var isNumber = int.TryParse(v.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var files);
            o.AccessLog.MaxFiles = isNumber ? files : o.AccessLog.MaxFiles;
            return isNumber ? null : $"{SettingsErrorFormatter.Quote(v)} is not a number.";
        }),
        new(Query, (o, v) =>
        {
            var isSwitch = SettingValues.TryParseSwitch(v, out var result);
            o.AccessLog.Query = result;
            return isSwitch ? null : $"{SettingsErrorFormatter.Quote(v)} is neither true nor false.";
        }),
    ];

    /// <summary>Checks the options against each other and makes the settings of them.</summary>
    /// <param name="options">The options.</param>
    /// <param name="report">Told of each mistake: the key, and what is wrong.</param>
    public static AccessLogSettings Check(AccessLogOptions options, Action<string, string> report)
    {
        if (options.Mode == AccessLogMode.Off)
        {
            return AccessLogSettings.Off;
        }

        if (options.SampleRate is not (> 0 and <= 1))
        {
            report(SampleRate, "is not above 0 and up to 1.");
        }

        if (options.MaxFileBytes < AccessLogOptions.MinMaxFileBytes)
        {
            report(MaxFileBytes, string.Create(CultureInfo.InvariantCulture, $"is less than {AccessLogOptions.MinMaxFileBytes} bytes."));
        }

        if (options.MaxFiles is < 1 or > MostFiles)
        {
            report(MaxFiles, string.Create(CultureInfo.InvariantCulture, $"is not between 1 and {MostFiles}."));
        }

        string? path = null;
        if (!options.Path.Equals(AccessLogSettings.StandardOutput, StringComparison.OrdinalIgnoreCase))
        {
            path = CheckPath(options.Path, report);
        }

        return new AccessLogSettings
        {
            Mode = options.Mode,
            Format = options.Format,
            FilePath = path,
            SampleRate = options.Mode == AccessLogMode.Full ? 1 : options.SampleRate,
            MaxFileBytes = options.MaxFileBytes,
            MaxFiles = options.MaxFiles,
            IncludesQuery = options.Query,
        };
    }

    // That the file can be written is found out when it is: a full disk must not keep a server from starting.
    private static string? CheckPath(string path, Action<string, string> report)
    {
        try
        {
            var full = System.IO.Path.GetFullPath(path);
            if (Directory.Exists(full))
            {
                report(Path, $"{SettingsErrorFormatter.Quote(path)} is a folder; give the file in it.");
            }
            else if (!Directory.Exists(System.IO.Path.GetDirectoryName(full)))
            {
                report(Path, $"{SettingsErrorFormatter.Quote(path)} is in a folder that does not exist.");
            }

            return full;
        }
        catch (Exception exception) when (exception is ArgumentException or PathTooLongException)
        {
            report(Path, $"{SettingsErrorFormatter.Quote(path)} is not a path.");
            return null;
        }
    }

    private static string? ApplyWord<T>(string value, string what, Action<T> set)
        where T : struct, Enum
    {
        // Enum.TryParse would also take numbers.
        var word = value.Trim();
        if (word.Length == 0 || !char.IsAsciiLetter(word[0]) || !Enum.TryParse(word, ignoreCase: true, out T result))
        {
            return $"{SettingsErrorFormatter.Quote(value)} is not {what}";
        }

        set(result);
        return null;
    }

    private static bool TryParseSize(string value, out long size)
    {
        var text = value.AsSpan().Trim();
        var shift = 0;
        if (text.EndsWith("KB", StringComparison.OrdinalIgnoreCase))
        {
            shift = 10;
        }
        else if (text.EndsWith("MB", StringComparison.OrdinalIgnoreCase))
        {
            shift = 20;
        }
        else if (text.EndsWith("GB", StringComparison.OrdinalIgnoreCase))
        {
            shift = 30;
        }

        var digits = shift == 0 ? text : text[..^2].TrimEnd();
        if (!long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out size) || size > long.MaxValue >> shift)
        {
            return false;
        }

        size <<= shift;
        return true;
    }
}
