using System.Buffers.Binary;
using System.Collections.Immutable;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>Why a request does not come to its service: an error, or an answer of a row.</summary>
/// <param name="Error">The error, or null.</param>
/// <param name="Answer">The answer, or null.</param>
internal readonly record struct PolicyStop(ProxyError? Error, ErrorResponse? Answer);

/// <summary>
/// Walks a request through the policies of its session, before a stream is opened: first the server's, then the agent's, each from its
/// first row to the one that ends its walk. It waits for nothing. Thread-safe.
/// </summary>
internal sealed class PolicyGate
{
    private readonly TrustedProxySet _trusted;
    private readonly byte[]? _countryField;
    private readonly TimeProvider _timeProvider;
    private readonly ProxyEntryMetrics _metrics;

    public PolicyGate(ProxyEntrySettings settings, TimeProvider timeProvider, ProxyEntryMetrics metrics)
    {
        _trusted = settings.TrustedProxies;
        _countryField = settings.CountryHeader is { } name ? Encoding.ASCII.GetBytes(name) : null;
        _timeProvider = timeProvider;
        _metrics = metrics;
    }

    /// <summary>Judges a request, once for each policy, however often it is tried or waits.</summary>
    /// <param name="exchange">The request, after <see cref="VisitorExchange.Forward"/>.</param>
    /// <param name="request">The forwarder's state of the request.</param>
    /// <param name="policy">The policies of its session.</param>
    /// <param name="tables">Those of them that are for the name that it asks for.</param>
    /// <returns>Why it does not come to its service; null: it does.</returns>
    public PolicyStop? Check(
        VisitorExchange exchange, ForwardedRequest request, SessionPolicy policy, ImmutableArray<SessionTable> tables)
    {
        if (request.NoteOf<PolicyNote>() is { } known && known.Passed == policy)
        {
            return null;
        }

        var note = request.UseNote<PolicyNote>();
        note.Begin();
        note.Request.Begin(exchange, _trusted, _countryField);
        try
        {
            foreach (var table in tables)
            {
                note.BeginTable();
                if (Walk(note, policy, table) is { } stop)
                {
                    return stop;
                }
            }

            if (Apply(exchange, request, note) is { } error)
            {
                return Refuse(error);
            }

            note.Passed = policy;
            return null;
        }
        finally
        {
            note.Request.End();
        }
    }

    private PolicyStop? Walk(PolicyNote note, SessionPolicy policy, SessionTable table)
    {
        foreach (var row in table.Policy.Rows)
        {
            if (row.FindObstacle(note.Request) is not null)
            {
                continue;
            }

            switch (row.End)
            {
                case PolicyEnd.Allow:
                    return null;
                case PolicyEnd.Deny:
                    return Refuse(ProxyError.PolicyDenied);
                case PolicyEnd.Redirect:
                    _metrics.PolicyAnswered("redirect");
                    return new PolicyStop(null, AnswerOf(row.Redirect!, note.Request.Target));
                case PolicyEnd.Answer:
                    _metrics.PolicyAnswered("answer");
                    return new PolicyStop(null, AnswerOf(row.Answer!));
                default:
                    break;
            }

            if (row.Rate is { } rate && !TryTake(note.Request, policy.Rates, table.Counters[row.Number - 1], rate, out var wait))
            {
                note.RetryAfterSeconds = (int)Math.Clamp(Math.Ceiling(wait.TotalSeconds), 1, 3600);
                return Refuse(ProxyError.PolicyRateLimit);
            }

            note.Add(row);
        }

        return null;
    }

    /// <summary>Does what the matching rows say. The lowest limit counts, and the changes of the table that came first come last.</summary>
    private static ProxyError? Apply(VisitorExchange exchange, ForwardedRequest request, PolicyNote note)
    {
        var bodyLimit = long.MaxValue;
        var headLimit = long.MaxValue;
        exchange.Extras?.ForgetEdits();
        for (var table = note.Tables - 1; table >= 0; table--)
        {
            foreach (var row in note.RowsOf(table))
            {
                bodyLimit = Math.Min(bodyLimit, row.BodyLimit ?? long.MaxValue);
                headLimit = Math.Min(headLimit, (long?)row.Timeout?.TotalMilliseconds ?? long.MaxValue);
                if (!row.RequestEdits.IsEmpty || !row.ResponseEdits.IsEmpty)
                {
                    request.UseExtras(exchange).AddEdits(row.RequestEdits, row.ResponseEdits);
                }
            }
        }

        request.BodyLimit = bodyLimit;
        request.HeadLimit = headLimit;
        return exchange.HasBody && exchange.DeclaredLength > bodyLimit ? ProxyError.RequestBodyTooLarge : null;
    }

    private bool TryTake(ExchangePolicyRequest request, PolicyRates rates, RowCounter counter, PolicyRate rate, out TimeSpan wait)
    {
        var (table, row) = counter;
        if (rate.Key == PolicyRateKey.Tunnel)
        {
            return rates.TryTake(new PolicyRateId(table, row, false, 0, 0), rate, _timeProvider, out wait);
        }

        var key = AddressKey.Of(request.Address ?? IPAddress.None);
        var address = new PolicyRateId(table, row, false, key.Upper, key.Lower);
        if (rate.Key != PolicyRateKey.Header || request.Values(rate.Header, withLookalikes: false) is not { Length: > 0 } values)
        {
            return rates.TryTake(address, rate, _timeProvider, out wait);
        }

        // A digest, so that a long value takes no room, and no visitor can make values that fall together.
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(Encoding.Latin1.GetBytes(string.Join(", ", values)), digest);
        var (upper, lower) = (BinaryPrimitives.ReadUInt64BigEndian(digest), BinaryPrimitives.ReadUInt64BigEndian(digest[8..]));
        return rates.TryTake(new PolicyRateId(table, row, true, upper, lower), address, rate, _timeProvider, out wait);
    }

    private static ErrorResponse AnswerOf(PolicyRedirect redirect, string target) =>
        new(redirect.Status, [new("Location", redirect.LocationFor(target))], default);

    private static ErrorResponse AnswerOf(PolicyAnswer answer) =>
        new(answer.Status, [new("Content-Type", answer.Type), .. answer.Fields], answer.Body);

    private PolicyStop Refuse(ProxyError error)
    {
        _metrics.AccessRefused(ProxyErrorCatalog.Get(error).Code);
        return new PolicyStop(error, null);
    }
}
