using System.Globalization;
using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads which signature the requests of a tunnel need. No message shows a secret.</summary>
internal static class WebhookOptionsParser
{
    /// <summary>Reads who signs: <c>provider</c>, or <c>provider:SECRET</c> with the one secret.</summary>
    public static string? ReadProvider(string text, ref AgentOptions options)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string name = colon < 0 ? text : text[..colon];
        var mistake = WebhookSecrets.ParseProvider(name, out WebhookProvider provider);
        options = With(options, RuleOf(options) with { Provider = provider });
        if (mistake is not null || colon < 0)
        {
            return mistake is null ? null : $"'{name}' {mistake}";
        }

        var problem = WebhookSecrets.Parse(Encoding.UTF8.GetBytes(text[(colon + 1)..]), out IReadOnlyList<ReadOnlyMemory<byte>> secrets);
        options = With(options, RuleOf(options) with { Secrets = secrets });
        return problem is null && secrets.Count == 1
            ? null
            : string.Create(
                CultureInfo.InvariantCulture,
                $"has no secret of {WebhookRule.MinSecretLength} to {WebhookRule.MaxSecretLength} bytes after '{name}:'");
    }

    /// <summary>Reads the file of secrets.</summary>
    public static string? ReadSecrets(string text, ref AgentOptions options)
    {
        if (RuleOf(options).Secrets.Count > 0)
        {
            return "contradicts the secret that --verify-webhook has";
        }

        if (PolicyOptionsParser.TryReadFile(text, out byte[] bytes) is { } problem)
        {
            return problem;
        }

        var mistake = WebhookSecrets.Parse(bytes, out IReadOnlyList<ReadOnlyMemory<byte>> secrets);
        options = With(options, RuleOf(options) with { Secrets = secrets });
        return mistake is null ? null : $"{text} {mistake}";
    }

    /// <summary>Checks that both are there, for a tunnel that can have them.</summary>
    public static void Check(AgentOptions options, AccessRules rules, List<OptionMistake> mistakes)
    {
        if (rules.Webhook is not { } rule)
        {
            return;
        }

        if (options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake("--verify-webhook", "belongs to 'http'"));
        }
        else if (rule.Provider == WebhookProvider.None && !mistakes.Exists(static mistake => mistake.Flag == "--verify-webhook"))
        {
            mistakes.Add(new OptionMistake("--webhook-secret-file", "goes with --verify-webhook, which says who signs"));
        }
        else if (rule.Secrets.Count == 0
            && !mistakes.Exists(static mistake => mistake.Flag is "--webhook-secret-file" or "--verify-webhook"))
        {
            mistakes.Add(new OptionMistake("--verify-webhook", "needs the secrets: --webhook-secret-file FILE, or one after a colon"));
        }
    }

    private static WebhookRule RuleOf(AgentOptions options) => options.Access?.Webhook ?? new WebhookRule(WebhookProvider.None, []);

    private static AgentOptions With(AgentOptions options, WebhookRule rule) =>
        options with { Access = (options.Access ?? new AccessRules()) with { Webhook = rule } };
}
