using System.Text;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads who signs webhooks, and the secrets, for agent and server alike. No message shows a secret.</summary>
internal static class WebhookSecrets
{
    /// <summary>The longest file, in bytes.</summary>
    public const int MaxFileLength = 4 * 1024;

    /// <summary>The words for providers; their index is one less than the number of the wire.</summary>
    public static IReadOnlyList<string> Providers { get; } = ["github", "gitlab", "stripe", "slack", "twilio", "standard"];

    /// <summary>Reads a provider.</summary>
    /// <returns>What is wrong with it, as the end of a sentence; null: nothing.</returns>
    public static string? ParseProvider(string text, out WebhookProvider provider)
    {
        var index = Providers.TakeWhile(word => !word.Equals(text, StringComparison.OrdinalIgnoreCase)).Count();
        provider = index < Providers.Count ? (WebhookProvider)(index + 1) : WebhookProvider.None;
        return provider == WebhookProvider.None ? $"is not one of {string.Join(", ", Providers)}" : null;
    }

    /// <summary>Reads the secrets: the lines of a file that are not empty.</summary>
    /// <returns>What is wrong with them, as the end of a sentence; null: nothing.</returns>
    public static string? Parse(ReadOnlySpan<byte> text, out IReadOnlyList<ReadOnlyMemory<byte>> secrets)
    {
        secrets =
        [
            .. Encoding.UTF8.GetString(text).Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
                .Select(static line => (ReadOnlyMemory<byte>)Encoding.UTF8.GetBytes(line)),
        ];
        return text.Length <= MaxFileLength && new WebhookRule(WebhookProvider.GitHub, secrets).IsValid
            ? null
            : FormattableString.Invariant($"has no secrets as they must be: 1 to {WebhookRule.MaxSecrets} lines of ")
                + FormattableString.Invariant($"{WebhookRule.MinSecretLength} to {WebhookRule.MaxSecretLength} bytes");
    }
}
