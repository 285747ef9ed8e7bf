namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>A setting's row in docs/settings.md. The call of <see cref="SettingsReader"/> that reads the setting makes it.</summary>
/// <param name="Path">
/// The key relative to the section, such as <c>Uplink:Listen</c>. A name that the operator chooses is in angle brackets.
/// </param>
/// <param name="Default">Markdown.</param>
/// <param name="Allowed">The values that it may have, with their unit. Markdown.</param>
/// <param name="Words">What the setting does. Markdown.</param>
/// <param name="IsList">Whether its keys end with numbers: <c>TrustedProxies:0</c>.</param>
/// <param name="MayChange">Whether a change in a settings file takes effect while the server runs.</param>
internal sealed record SettingEntry(string Path, string Default, string Allowed, string Words, bool IsList, bool MayChange)
{
    /// <summary>The row in the document.</summary>
    public override string ToString() => $"| `{Path}{(IsList ? ":0`, `:1` …" : "`")} | {Default} | {Allowed} | {Words} |";
}
