using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Domains;

/// <summary>
/// Checks that the owner of a domain wants an agent of this server to have it: a TXT record, or a page of the domain where the settings
/// allow that, has a text that only fits this agent, this domain and this server. It is no secret. Thread-safe.
/// </summary>
internal sealed class DomainProofs
{
    /// <summary>How long a proof counts without another look.</summary>
    public static readonly TimeSpan Kept = TimeSpan.FromHours(1);

    /// <summary>How many looks there may be at once; others come later.</summary>
    public const int MostLooks = 16;

    /// <summary>How many of them for one agent: name servers that do not answer must not hold up the domains of others.</summary>
    public const int MostOfAgent = 2;

    /// <summary>
    /// How long a look may take in all: the record, and the page with its redirects. The agent waits for its answer for no longer than
    /// <see cref="ProtocolLimits.HandshakeTimeout"/>.
    /// </summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(8);

    /// <summary>How much of it the record may take where a page can be a proof too.</summary>
    public static readonly TimeSpan LimitBeforePage = TimeSpan.FromSeconds(4);

    private const int MostKept = 10_000;
    private const string Label = "_tunnel2-challenge.";
    private const string Prefix = "tunnel2-proof=";

    private static readonly TimeSpan _again = TimeSpan.FromSeconds(10);

    private readonly ProxyEntrySettings _settings;
    private readonly TxtResolver _resolver;
    private readonly HttpProof? _http;
    private readonly ProofRate _rate;
    private readonly TimeProvider _time;
    private readonly Lock _gate = new();
    private readonly Dictionary<string, long> _proven = new(StringComparer.Ordinal);
    private readonly Dictionary<string, int> _looking = new(StringComparer.OrdinalIgnoreCase);
    private int _looks;

    /// <param name="settings">The settings.</param>
    /// <param name="resolver">Finds records.</param>
    /// <param name="time">The clock.</param>
    /// <param name="http">Fetches pages; null: none is asked for.</param>
    public DomainProofs(ProxyEntrySettings settings, TxtResolver resolver, TimeProvider time, HttpProof? http = null)
    {
        _settings = settings;
        _resolver = resolver;
        _http = http;
        _rate = new ProofRate(time);
        _time = time;
    }

    /// <summary>The name of the record.</summary>
    public static string RecordOf(string domain) => Label + (DomainName.IsWildcard(domain) ? domain[2..] : domain);

    /// <summary>The text that it has to have.</summary>
    public string TextOf(string agentId, string domain) => Prefix + HashOf("domain", agentId, domain);

    /// <summary>The end of the page's path. It is another hash than the text: a page that repeats its path proves nothing.</summary>
    public string TokenOf(string agentId, string domain) => HashOf("page", agentId, domain);

    /// <summary>Looks for the record, and for the page.</summary>
    /// <param name="agentId">The agent.</param>
    /// <param name="domain">The domain that it claims, in lower case.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>Null: it is there; otherwise the answer to the agent.</returns>
    public async Task<RejectMessage?> CheckAsync(string agentId, string domain, CancellationToken stop)
    {
        var text = TextOf(agentId, domain);
        if (IsProven(text))
        {
            return null;
        }

        if (!TryBegin(agentId))
        {
            return new RejectMessage(RejectCode.Overloaded, _again, "Too many domains are being checked.");
        }

        var begun = _time.GetTimestamp();
        try
        {
            var record = RecordOf(domain);
            var hasPage = _http is not null && !DomainName.IsWildcard(domain);
            var found = await FindAsync(record, hasPage ? LimitBeforePage : Limit, stop).ConfigureAwait(false);
            if (found?.Contains(text, StringComparer.Ordinal) == true)
            {
                Keep(text);
                return null;
            }

            var page = "";
            if (hasPage)
            {
                var token = TokenOf(agentId, domain);
                page = $", or the page http://{domain}{HttpProof.Path}{token} with it";
                if (!_rate.TryTake(agentId))
                {
                    return new RejectMessage(RejectCode.Overloaded, ProofRate.Period, "This agent has had too many domains checked.");
                }

                if (await _http!.HasAsync(domain, token, text, Limit - _time.GetElapsedTime(begun), stop).ConfigureAwait(false))
                {
                    Keep(text);
                    return null;
                }
            }

            return found is null
                ? new RejectMessage(RejectCode.Overloaded, _again, $"No name server has answered the question for {record}.")
                : new RejectMessage(
                    RejectCode.NameNotAllowed, TimeSpan.Zero,
                    $"The domain needs a proof: the TXT record {record} with the text {text} ({found.Count} other texts are there){page}.");
        }
        finally
        {
            End(agentId);
        }
    }

    /// <summary>The texts of a record; null: no name server has answered in time.</summary>
    private async Task<IReadOnlyList<string>?> FindAsync(string record, TimeSpan time, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(time, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        try
        {
            return await _resolver.FindAsync(record, either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            return null;
        }
    }

    private string HashOf(string use, string agentId, string domain) => Base64Url.EncodeToString(SHA256.HashData(
        Encoding.UTF8.GetBytes($"tunnel2 {use}\n{agentId.ToLowerInvariant()}\n{domain}\n{_settings.Domain}")));

    private bool TryBegin(string agentId)
    {
        lock (_gate)
        {
            var own = _looking.GetValueOrDefault(agentId);
            if (_looks >= MostLooks || own >= MostOfAgent)
            {
                return false;
            }

            _looks++;
            _looking[agentId] = own + 1;
            return true;
        }
    }

    private void End(string agentId)
    {
        lock (_gate)
        {
            _looks--;
            if (--_looking[agentId] is var own && own == 0)
            {
                _looking.Remove(agentId);
            }
        }
    }

    private bool IsProven(string text)
    {
        lock (_gate)
        {
            return _proven.TryGetValue(text, out var since) && _time.GetElapsedTime(since) < Kept;
        }
    }

    private void Keep(string text)
    {
        lock (_gate)
        {
            if (_proven.Count >= MostKept)
            {
                foreach (var (old, _) in _proven.Where(one => _time.GetElapsedTime(one.Value) >= Kept).ToList())
                {
                    _proven.Remove(old);
                }
            }

            if (_proven.Count < MostKept)
            {
                _proven[text] = _time.GetTimestamp();
            }
        }
    }
}
