using Microsoft.Extensions.Options;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// The settings of a tunnel server are wrong; the host's start fails with it before anything listens. It has all mistakes at once, one in
/// each of <see cref="OptionsValidationException.Failures"/> (<c>Tunnel2:Key: what is wrong and what would be right.</c>). It contains no
/// secret.
/// </summary>
public sealed class ProxyEntrySettingsException : OptionsValidationException
{
    internal ProxyEntrySettingsException(IReadOnlyList<SettingsError> errors)
        : base(SettingKeys.Section, typeof(ProxyEntryServer), errors.Select(static error => $"{error.Key}: {error.Message}")) =>
        Message = SettingsErrorFormatter.Format(errors);

    /// <summary>
    /// The text that the program <c>tunnel2-entry</c> prints: a headline, then a line for each mistake. Ends with a line break.
    /// </summary>
    public override string Message { get; }
}
