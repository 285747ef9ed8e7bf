using System.Globalization;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>One key of section <c>Tunnel2</c> that takes a single value.</summary>
/// <param name="Path">Relative to the section, such as <c>Uplink:Listen</c>.</param>
/// <param name="Apply">Puts a non-empty value into the options; returns what is wrong with it, or null.</param>
internal sealed record SettingKey(string Path, Func<ProxyEntryOptions, string, string?> Apply)
{
    /// <summary>An empty value is a mistake rather than "not set": a secret that was meant to be given must not silently be absent.</summary>
    public bool RefusesEmpty { get; init; }

    /// <summary>A key whose value is a whole number.</summary>
    public static SettingKey Number(string path, Action<ProxyEntryOptions, int> set) => new(path, (options, value) =>
    {
        if (!int.TryParse(value.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var result))
        {
            return $"{SettingsErrorFormatter.Quote(value)} is not a whole number.";
        }

        set(options, result);
        return null;
    });

    /// <summary>A key whose value is a whole number, or <c>auto</c>, which is none.</summary>
    public static SettingKey NumberOrAuto(string path, Action<ProxyEntryOptions, int?> set) => new(path, (options, value) =>
    {
        if (value.Trim().Equals("auto", StringComparison.OrdinalIgnoreCase))
        {
            set(options, null);
            return null;
        }

        return Number(path, (o, number) => set(o, number)).Apply(options, value) is null ? null : $"{SettingsErrorFormatter.Quote(value)} is neither a whole number nor auto.";
    });

    /// <summary>A key whose value is a duration, such as <c>30s</c>.</summary>
    public static SettingKey Duration(string path, Action<ProxyEntryOptions, TimeSpan> set) => new(path, (options, value) =>
    {
        if (!SettingValues.TryParseDuration(value, out var result, out var reason))
        {
            return $"{SettingsErrorFormatter.Quote(value)} {reason}";
        }

        set(options, result);
        return null;
    });
}
