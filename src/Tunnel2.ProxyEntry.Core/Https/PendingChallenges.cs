using System.Collections.Concurrent;
using System.Text;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Https;

/// <summary>
/// The challenges of a certificate authority that wait for its visit: HTTP-01 (RFC 8555 section 8.3) by token, TLS-ALPN-01 (RFC 8737) by
/// name. There are a few at a time, and none most of the time. Thread-safe.
/// </summary>
internal sealed class PendingChallenges
{
    private const string Folder = "/.well-known/acme-challenge/";

    /// <summary>A longer one is no token of ours (<c>ChallengeProver</c>).</summary>
    private const int LongestToken = 256;

    private readonly ConcurrentDictionary<string, (string Name, byte[] Answer)> _http = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, ServerCertificate> _tls = new(StringComparer.Ordinal);
    private volatile bool _hasHttp;
    private volatile bool _hasTls;

    /// <summary>Whether one waits for a visit over HTTP.</summary>
    public bool HasHttp => _hasHttp;

    /// <summary>Whether one waits for a visit over TLS.</summary>
    public bool HasTls => _hasTls;

    /// <summary>Those of other nodes; null for a server that shares none. Set before the first visitor.</summary>
    public IOtherChallenges? Others { get; set; }

    private static ReadOnlySpan<byte> FolderBytes => "/.well-known/acme-challenge/"u8;

    /// <summary>Answers visits of a name with a token from now on.</summary>
    /// <param name="token">The token, in characters of base64url.</param>
    /// <param name="name">The name in lower case.</param>
    /// <param name="answer">What the authority expects to read.</param>
    public void AddHttp(string token, string name, string answer)
    {
        _http[token] = (name, Encoding.ASCII.GetBytes(answer));
        _hasHttp = true;
    }

    /// <summary>The visit is over.</summary>
    public void RemoveHttp(string token)
    {
        _http.TryRemove(token, out _);
        _hasHttp = !_http.IsEmpty;
    }

    /// <summary>Shows a certificate to visits of a name for <c>acme-tls/1</c> from now on.</summary>
    public void AddTls(string name, ServerCertificate certificate)
    {
        _tls[name] = certificate;
        _hasTls = true;
    }

    /// <summary>The visit is over.</summary>
    public void RemoveTls(string name)
    {
        _tls.TryRemove(name, out _);
        _hasTls = !_tls.IsEmpty;
    }

    /// <summary>The certificate for a visit for <c>acme-tls/1</c>; null when none is awaited.</summary>
    /// <param name="name">The name in lower case.</param>
    public ServerCertificate? FindTls(string name) => _tls.GetValueOrDefault(name);

    /// <summary>The answer to a visit; null for all other requests.</summary>
    public ErrorResponse? FindAnswer(VisitorExchange exchange)
    {
        if (!_hasHttp || exchange.IsRaw || exchange.Method is not ("GET" or "HEAD")
            || !exchange.Target.StartsWith(Folder, StringComparison.Ordinal)
            || !_http.TryGetValue(exchange.Target[Folder.Length..], out var awaited)
            || !IsFor(exchange.Authority, awaited.Name))
        {
            return null;
        }

        return AnswerOf(awaited.Answer);
    }

    /// <summary>Whether a request may be a visit that another node awaits: all that other requests pay. Makes no text of them.</summary>
    public bool MayBeOfOther(VisitorExchange exchange)
    {
        if (Others is null || exchange.IsRaw)
        {
            return false;
        }

        Span<byte> target = stackalloc byte[Folder.Length + LongestToken + 1];
        target = target[..exchange.CopyTarget(target)];
        return target.Length <= Folder.Length + LongestToken && target.StartsWith(FolderBytes) && exchange.Method is ("GET" or "HEAD");
    }

    /// <summary>The answer to a visit that another node awaits; null for all other requests.</summary>
    public async ValueTask<ErrorResponse?> FindAnswerOfOtherAsync(VisitorExchange exchange)
    {
        var token = exchange.Target[Folder.Length..];
        if (Others is not { } others || token.Length == 0 || _http.ContainsKey(token))
        {
            return null;
        }

        var name = NameOf(exchange.Authority).ToString().ToLowerInvariant();
        return await others.FindHttpAsync(name, token).ConfigureAwait(false) is { } answer ? AnswerOf(answer) : null;
    }

    /// <summary>The certificate for a visit for <c>acme-tls/1</c>, also of another node.</summary>
    public async ValueTask<ServerCertificate?> FindTlsAsync(string name) => FindTls(name)
        ?? (Others is { UsesTls: true } others ? await others.FindTlsAsync(name).ConfigureAwait(false) : null);

    private static ErrorResponse AnswerOf(byte[] answer) => new(
        StatusCodes.Status200OK,
        [new("Content-Type", "application/octet-stream"), new("Cache-Control", "no-store")],
        answer);

    private static bool IsFor(string authority, string name) => NameOf(authority).Equals(name, StringComparison.OrdinalIgnoreCase);

    private static ReadOnlySpan<char> NameOf(string authority)
    {
        var colon = authority.IndexOf(':', StringComparison.Ordinal);
        var host = colon < 0 ? authority.AsSpan() : authority.AsSpan(0, colon);
        return host.TrimEnd('.');
    }
}
