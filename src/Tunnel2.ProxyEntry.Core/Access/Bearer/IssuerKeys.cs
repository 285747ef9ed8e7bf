using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>
/// The keys of one issuer, fetched when tokens need them: again after an hour, when none of them has signed a token, and after a failure
/// with growing pauses. Where the issuer does not answer, the keys that it had are used for a day. One fetch at once. Thread-safe.
/// </summary>
internal sealed class IssuerKeys
{
    /// <summary>After this the keys are fetched again, while they are still used.</summary>
    public static readonly TimeSpan FreshFor = TimeSpan.FromHours(1);

    /// <summary>After this without an answer the keys are not used any more.</summary>
    public static readonly TimeSpan KeptFor = TimeSpan.FromHours(24);

    /// <summary>The shortest time between two fetches, however many tokens come that none of the keys has signed.</summary>
    public static readonly TimeSpan Pause = TimeSpan.FromSeconds(30);

    /// <summary>The longest pause after failures.</summary>
    public static readonly TimeSpan LongestPause = TimeSpan.FromMinutes(5);

    /// <summary>The pause after the first failure, where there are no keys.</summary>
    public static readonly TimeSpan FirstPause = TimeSpan.FromSeconds(2);

    private const int MostDoublings = 10;

    private readonly Lock _gate = new();
    private readonly TokenIssuer _issuer;
    private readonly KeyFetch _fetch;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private volatile State _state = new(null, 0);
    private Task? _running;
    private long _triedAt;
    private int _tries;
    private int _failures;

    public IssuerKeys(TokenIssuer issuer, KeyFetch fetch, TimeProvider time, ILogger logger)
    {
        _issuer = issuer;
        _fetch = fetch;
        _time = time;
        _logger = logger;
    }

    /// <summary>The tokens of the issuer that are checked now, by the address of the visitor.</summary>
    public AddressShares Checks { get; } = new(BearerVerifier.MostOfIssuer, BearerVerifier.MostOfAddress);

    /// <summary>The keys; null: there are none yet, or none any more. Begins a fetch when they are not fresh, and does not wait.</summary>
    public KeySet? Find()
    {
        var state = _state;
        if (state.Keys is not { } keys)
        {
            return null;
        }

        var age = _time.GetElapsedTime(state.FetchedAt);
        if (age >= FreshFor)
        {
            _ = TryRefresh(keys);
        }

        return age < KeptFor ? keys : null;
    }

    /// <summary>Fetches the keys, because those that are there do not do.</summary>
    /// <param name="seen">The keys that do not do; null: there were none.</param>
    /// <returns>Ends, without a fault, when there are others or the fetch has failed; null: it is too early to ask again.</returns>
    public Task? TryRefresh(KeySet? seen)
    {
        lock (_gate)
        {
            var state = _state;
            if (state.Keys is { } present && !ReferenceEquals(present, seen) && _time.GetElapsedTime(state.FetchedAt) < KeptFor)
            {
                return Task.CompletedTask;
            }

            if (_running is { } running)
            {
                return running;
            }

            if (_tries > 0 && _time.GetElapsedTime(_triedAt) < PauseUnsynchronized())
            {
                return null;
            }

            _tries = 1;
            _triedAt = _time.GetTimestamp();
            return _running = Task.Run(RefreshAsync);
        }
    }

    private TimeSpan PauseUnsynchronized()
    {
        if (_failures == 0)
        {
            return Pause;
        }

        var first = _state.Keys is null ? FirstPause : Pause;
        var pause = first * (1 << Math.Min(_failures - 1, MostDoublings));
        return pause < LongestPause ? pause : LongestPause;
    }

    private async Task RefreshAsync()
    {
        KeySet? keys = null;
        string? reason = null;
        try
        {
            keys = await _fetch.FetchAsync(_issuer).ConfigureAwait(false);
        }
        catch (KeyFetchException exception)
        {
            reason = exception.Message;
        }
        catch (ObjectDisposedException)
        {
            // ProxyEntry stops.
            reason = "the server stops";
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // For any answer of an issuer: a later one may be good, so the next try must not be this task again. The libraries' words
            // may hold what it sent.
            reason = $"its answer cannot be read ({exception.GetType().Name})";
        }

        var isNew = false;
        int failures;
        lock (_gate)
        {
            if (keys is null)
            {
                _failures++;
            }
            else
            {
                // The same keys stay the same object, so that tokens that were checked with them need no other check.
                isNew = !keys.IsSameAs(_state.Keys);
                _failures = 0;
                _state = new State(isNew ? keys : _state.Keys, _time.GetTimestamp());
            }

            failures = _failures;
            _running = null;
        }

        if (isNew)
        {
            BearerLog.KeysFetched(_logger, _issuer.Name, keys!.Count);
        }
        else if (reason is not null)
        {
            BearerLog.KeysNotFetched(_logger, _issuer.Name, reason, failures);
        }
    }

    private sealed record State(KeySet? Keys, long FetchedAt);
}
