namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>One key of section <c>Tunnel2</c> that takes a single value.</summary>
/// <param name="Path">Relative to the section, such as <c>Uplink:Listen</c>.</param>
/// <param name="Apply">Puts a non-empty value into the options; returns what is wrong with it, or null.</param>
internal sealed record SettingKey(string Path, Func<ProxyEntryOptions, string, string?> Apply)
{
    /// <summary>An empty value is a mistake rather than "not set": a secret that was meant to be given must not silently be absent.</summary>
    public bool RefusesEmpty { get; init; }
}
