using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings, or all mistakes in them.</summary>
internal readonly struct SettingsLoadResult
{
    private readonly SettingsError[] _errors;

    internal SettingsLoadResult(ProxyEntrySettings? settings, SettingsError[] errors)
    {
        Settings = settings;
        _errors = errors;
    }

    /// <summary>The settings; null exactly if there are <see cref="Errors"/>.</summary>
    public ProxyEntrySettings? Settings { get; }

    /// <summary>All mistakes, in the order in which they were found.</summary>
    public IReadOnlyList<SettingsError> Errors => _errors ?? [];

    /// <summary>Whether the settings can be used.</summary>
    [MemberNotNullWhen(true, nameof(Settings))]
    public bool IsValid => Settings is not null;

    /// <summary>Deconstructs the result: <c>var (settings, errors) = SettingsLoader.Load(configuration);</c></summary>
    public void Deconstruct(out ProxyEntrySettings? settings, out IReadOnlyList<SettingsError> errors)
    {
        settings = Settings;
        errors = Errors;
    }
}
