using System.Text;
using Microsoft.Extensions.Configuration;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>Loads settings from "Key=value" texts relative to section Tunnel2.</summary>
internal static class SettingsFixture
{
    public static SettingsLoadResult Load(params string[] settings) => LoadWithFiles(null, settings);

    /// <summary>As a process loads them that may have so many files open.</summary>
    public static SettingsLoadResult LoadWithFiles(int? files, params string[] settings)
    {
        var values = settings.Select(setting => setting.Split('=', 2)).ToDictionary(
            pair => "Tunnel2:" + pair[0], pair => (string?)pair[1], StringComparer.OrdinalIgnoreCase);
        return SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(values).Build(), files);
    }

    /// <summary>A file's text, and over it settings from elsewhere.</summary>
    public static SettingsLoadResult LoadJson(string json, params string[] settings)
    {
        using var file = new MemoryStream(Encoding.UTF8.GetBytes(json));
        return SettingsLoader.Load(new ConfigurationBuilder().AddJsonStream(file)
            .AddInMemoryCollection(settings.Select(setting => setting.Split('=', 2))
                .Select(pair => KeyValuePair.Create("Tunnel2:" + pair[0], (string?)pair[1])))
            .Build());
    }

    public static ProxyEntrySettings LoadValid(params string[] settings)
    {
        var result = Load(settings);
        Assert.True(result.IsValid, SettingsErrorFormatter.Format(result.Errors));
        return result.Settings;
    }

    public static string HashSetting(string token) => TokenHash.FromToken(token).ToSetting();
}
