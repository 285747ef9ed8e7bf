namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>One mistake in the settings.</summary>
/// <param name="Key">The full key, such as <c>Tunnel2:Uplink:Listen</c>.</param>
/// <param name="Message">The mistake and its correction, as one sentence. Never contains a secret's value.</param>
internal readonly record struct SettingsError(string Key, string Message);
