using System.Buffers;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>What a signature is about, beside the body.</summary>
/// <param name="Values">Returns the values of a field, one for each of its lines.</param>
/// <param name="Urls">The URLs by which the visitor may have called, without making more than is asked.</param>
internal readonly record struct WebhookHead(Func<string, string[]> Values, Func<IEnumerable<string>> Urls);

/// <summary>Finds the signature of a request by the form of its provider, and begins to check it. Immutable.</summary>
internal sealed class WebhookVerifier
{
    /// <summary>How far a provider's clock may be from ours.</summary>
    public static readonly TimeSpan Tolerance = TimeSpan.FromMinutes(5);

    /// <summary>How many signatures a header may have: providers send several while a secret is replaced.</summary>
    private const int MostSignatures = 8;

    private const int LongestValue = 4 * 1024;
    private const string StandardPrefix = "whsec_";

    private readonly WebhookProvider _provider;
    private readonly byte[][] _secrets;

    public WebhookVerifier(WebhookRule rule)
    {
        _provider = rule.Provider;
        _secrets = [.. rule.Secrets.Select(secret => KeyOf(rule.Provider, secret.Span))];
    }

    /// <summary>Begins a check.</summary>
    /// <param name="head">The request without its body.</param>
    /// <param name="now">The time.</param>
    /// <returns>The check; null: there is no signature that could be right.</returns>
    public WebhookCheck? TryBegin(in WebhookHead head, DateTimeOffset now) => _provider switch
    {
        WebhookProvider.GitHub => BeginGitHub(head),
        WebhookProvider.GitLab => BeginGitLab(head),
        WebhookProvider.Stripe => BeginStripe(head, now),
        WebhookProvider.Slack => BeginSlack(head, now),
        WebhookProvider.Twilio => BeginTwilio(head),
        _ => BeginStandard(head, now),
    };

    private WebhookCheck? BeginGitHub(in WebhookHead head) =>
        Only(head, "X-Hub-Signature-256") is { } value && HexAfter(value, "sha256=") is { } claim
            ? WebhookCheck.OfHash(HashAlgorithmName.SHA256, _secrets, [claim], "")
            : null;

    /// <summary>GitLab sends the secret itself. Digests are compared, so that the time says nothing of its length.</summary>
    private WebhookCheck? BeginGitLab(in WebhookHead head)
    {
        if (Only(head, "X-Gitlab-Token") is not { } value)
        {
            return null;
        }

        Span<byte> claim = stackalloc byte[SHA256.HashSizeInBytes];
        Span<byte> own = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(Encoding.Latin1.GetBytes(value), claim);
        var isRight = false;
        foreach (var secret in _secrets)
        {
            SHA256.HashData(secret, own);
            isRight |= CryptographicOperations.FixedTimeEquals(own, claim);
        }

        return isRight ? WebhookCheck.Passed : null;
    }

    private WebhookCheck? BeginStripe(in WebhookHead head, DateTimeOffset now)
    {
        if (Only(head, "Stripe-Signature") is not { } value)
        {
            return null;
        }

        string? time = null;
        var claims = new List<byte[]>();
        foreach (var part in value.Split(',', MostSignatures + 2))
        {
            var pair = part.Trim();
            if (pair.StartsWith("t=", StringComparison.Ordinal))
            {
                if (time is not null)
                {
                    return null;
                }

                time = pair[2..];
            }
            else if (HexAfter(pair, "v1=") is { } claim)
            {
                claims.Add(claim);
            }
        }

        return time is not null && claims.Count is > 0 and <= MostSignatures && IsFresh(time, now)
            ? WebhookCheck.OfHash(HashAlgorithmName.SHA256, _secrets, claims, time + ".", isOnce: true)
            : null;
    }

    private WebhookCheck? BeginSlack(in WebhookHead head, DateTimeOffset now) =>
        Only(head, "X-Slack-Signature") is { } value
        && Only(head, "X-Slack-Request-Timestamp") is { } time
        && HexAfter(value, "v0=") is { } claim
        && IsFresh(time, now)
            ? WebhookCheck.OfHash(HashAlgorithmName.SHA256, _secrets, [claim], $"v0:{time}:", isOnce: true)
            : null;

    private WebhookCheck? BeginTwilio(in WebhookHead head) =>
        Only(head, "X-Twilio-Signature") is { } value && Base64Of(value, SHA1.HashSizeInBytes) is { } claim
            ? WebhookCheck.OfForm(
                _secrets,
                claim,
                [.. head.Urls()],
                Only(head, "Content-Type")?.StartsWith("application/x-www-form-urlencoded", StringComparison.OrdinalIgnoreCase) == true)
            : null;

    /// <summary>
    /// Senders that used Svix before there was a standard have its names for the same three fields. A request with both has one signature
    /// that counts, that of the standard.
    /// </summary>
    private WebhookCheck? BeginStandard(in WebhookHead head, DateTimeOffset now)
    {
        var prefix = head.Values("webhook-signature").Length == 0 ? "svix-" : "webhook-";
        if (Only(head, prefix + "id") is not { Length: > 0 } id
            || Only(head, prefix + "timestamp") is not { } time
            || Only(head, prefix + "signature") is not { } value
            || !IsFresh(time, now))
        {
            return null;
        }

        byte[][] claims =
        [
            .. value.Split(' ', MostSignatures + 1, StringSplitOptions.RemoveEmptyEntries)
                .Where(static one => one.StartsWith("v1,", StringComparison.Ordinal))
                .Select(static one => Base64Of(one[3..], SHA256.HashSizeInBytes)).OfType<byte[]>(),
        ];
        return claims.Length is > 0 and <= MostSignatures
            ? WebhookCheck.OfHash(HashAlgorithmName.SHA256, _secrets, claims, $"{id}.{time}.", isOnce: true)
            : null;
    }

    /// <summary>The value of a field that comes once; null: it does not come, or comes more than once, or is too long.</summary>
    private static string? Only(in WebhookHead head, string name) =>
        head.Values(name) is [{ Length: <= LongestValue } value] ? value : null;

    private static byte[]? HexAfter(string value, string prefix)
    {
        if (value.Length != prefix.Length + (2 * SHA256.HashSizeInBytes) || !value.StartsWith(prefix, StringComparison.Ordinal))
        {
            return null;
        }

        var bytes = new byte[SHA256.HashSizeInBytes];
        return Convert.FromHexString(value.AsSpan(prefix.Length), bytes, out _, out _) == OperationStatus.Done ? bytes : null;
    }

    private static byte[]? Base64Of(string value, int length)
    {
        var bytes = new byte[value.Length];
        return Convert.TryFromBase64String(value, bytes, out var written) && written == length ? bytes[..length] : null;
    }

    private static bool IsFresh(string time, DateTimeOffset now) =>
        time.Length is > 0 and <= 11
        && long.TryParse(time, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)
        && (now - DateTimeOffset.FromUnixTimeSeconds(seconds)).Duration() <= Tolerance;

    /// <summary>The key of a secret. Those of Standard Webhooks are Base64, with or without a prefix.</summary>
    private static byte[] KeyOf(WebhookProvider provider, ReadOnlySpan<byte> secret)
    {
        if (provider != WebhookProvider.Standard)
        {
            return secret.ToArray();
        }

        var text = Encoding.Latin1.GetString(secret);
        var rest = text.StartsWith(StandardPrefix, StringComparison.Ordinal) ? text[StandardPrefix.Length..] : text;
        var bytes = new byte[rest.Length];
        return Convert.TryFromBase64String(rest, bytes, out var length) && length > 0 ? bytes[..length] : secret.ToArray();
    }
}
