namespace Tunnel2.Protocol.Handshake;

/// <summary>Who signs the webhooks of a tunnel. The numbers are those of the wire.</summary>
public enum WebhookProvider
{
    /// <summary>No provider.</summary>
    None = 0,

    /// <summary>GitHub: <c>X-Hub-Signature-256</c>.</summary>
    GitHub = 1,

    /// <summary>GitLab: <c>X-Gitlab-Token</c>.</summary>
    GitLab = 2,

    /// <summary>Stripe: <c>Stripe-Signature</c>.</summary>
    Stripe = 3,

    /// <summary>Slack: <c>X-Slack-Signature</c>.</summary>
    Slack = 4,

    /// <summary>Twilio: <c>X-Twilio-Signature</c>.</summary>
    Twilio = 5,

    /// <summary>Standard Webhooks: <c>webhook-signature</c>, or <c>svix-signature</c>.</summary>
    Standard = 6,
}

/// <summary>Which signature the requests of a tunnel need. Immutable.</summary>
/// <param name="Provider">Who signs.</param>
/// <param name="Secrets">The secrets, of which any may have signed: several while one is replaced by another. Never logged.</param>
public sealed record WebhookRule(WebhookProvider Provider, IReadOnlyList<ReadOnlyMemory<byte>> Secrets)
{
    /// <summary>The maximum number of secrets.</summary>
    public const int MaxSecrets = 4;

    /// <summary>The shortest secret, in bytes: shorter ones can be guessed.</summary>
    public const int MinSecretLength = 8;

    /// <summary>The longest secret, in bytes.</summary>
    public const int MaxSecretLength = 255;

    /// <summary>The maximum number of bytes of a rule in HELLO.</summary>
    internal const int MaxLength = 1 + (MaxSecrets * (1 + MaxSecretLength));

    /// <summary>Whether the provider is known, and secrets are within their limits.</summary>
    public bool IsValid => Provider is >= WebhookProvider.GitHub and <= WebhookProvider.Standard
        && Secrets.Count is > 0 and <= MaxSecrets
        && Secrets.All(static secret => secret.Length is >= MinSecretLength and <= MaxSecretLength);

    /// <summary>The provider, never a secret.</summary>
    public override string ToString() => Provider.ToString();
}
