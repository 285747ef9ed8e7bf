using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;

namespace Tunnel2.ProxyEntry.Uplink;

/// <content>
/// Changes of tokens, and the tokens of a cluster: there the database has them, and the folder is this node's copy, with which it continues
/// while the database is away.
/// </content>
internal sealed partial class IssuedTokens : ISharedValues<StoredToken>
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "tokens";

    private readonly SharedCopy? _shared;
    private bool _isCopy;
    private long _usesReported;

    /// <summary>Why this node may not know all tokens of its cluster; null: it does, or it is alone.</summary>
    public string? Trouble => _shared?.Trouble;

    /// <summary>Keeps a new token, which agents may use at once.</summary>
    /// <exception cref="IOException">It cannot be written; then it is not in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there; then it is not in force.</exception>
    /// <exception cref="SharedUnavailableException">The cluster's database is not available.</exception>
    public async ValueTask<TokenOutcome> AddAsync(StoredToken token, CancellationToken cancellationToken = default)
    {
        if (_shared is null)
        {
            return AddAlone(token);
        }

        var document = new SharedDocument(token.Name, TokenFile.Write(token));
        return await _shared.AddAsync(document, cancellationToken).ConfigureAwait(false) switch
        {
            SharedOutcome.Taken => TokenOutcome.NameTaken,
            SharedOutcome.TooMany => TokenOutcome.TooMany,
            _ => TokenOutcome.Done,
        };
    }

    /// <summary>Revokes a token, and ends the sessions that it let in.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>
    /// Whether there was one of this name; the token, where this node could read it; and how many sessions of this node were ended.
    /// </returns>
    /// <exception cref="IOException">It cannot be removed; then it stays in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it; then it stays in force.</exception>
    /// <exception cref="SharedUnavailableException">The cluster's database is not available.</exception>
    public async ValueTask<(bool IsFound, StoredToken? Token, int Ended)> RevokeAsync(
        string name, CancellationToken cancellationToken = default)
    {
        if (_shared is null)
        {
            var revoked = RevokeAlone(name, out var count);
            return (revoked is not null, revoked, count);
        }

        var token = All.FirstOrDefault(other => other.Name == name);
        var (outcome, ended) = await _shared.RemoveAsync(name, cancellationToken).ConfigureAwait(false);
        return (outcome == SharedOutcome.Done, token, ended);
    }

    /// <inheritdoc/>
    IReadOnlyList<SharedDocument> ISharedValues<StoredToken>.Own =>
        [.. _tokens.Select(token => new SharedDocument(token.Name, TokenFile.Write(token), Touched: _uses.Find(token.Name)))];

    /// <inheritdoc/>
    StoredToken? ISharedValues<StoredToken>.Read(SharedDocument document, out string reason) =>
        TokenFile.Read(document.Value, document.Key, out reason);

    /// <inheritdoc/>
    IReadOnlyDictionary<string, StoredToken> ISharedValues<StoredToken>.Load() =>
        _store.Load([]).ToDictionary(static token => token.Name, StringComparer.Ordinal);

    /// <inheritdoc/>
    bool ISharedValues<StoredToken>.IsSame(StoredToken kept, StoredToken wanted) => kept.IsSameAs(wanted);

    /// <inheritdoc/>
    void ISharedValues<StoredToken>.Save(StoredToken value) => _store.Save(value);

    /// <inheritdoc/>
    void ISharedValues<StoredToken>.Delete(StoredToken value) => _store.Delete(value.Name);

    /// <inheritdoc/>
    bool ISharedValues<StoredToken>.Use(IReadOnlyList<SharedValue<StoredToken>> values)
    {
        // A key that no node has written goes into no line of the log.
        ReportUnsynchronized(
        [
            .. values.Where(static one => one.Value is null)
                .Select(static one => ($"the cluster's database ({(StoredToken.IsName(one.Key) ? one.Key : "?")})", one.Reason)),
        ]);
        var tokens = values.Select(static one => one.Value).OfType<StoredToken>().ToDictionary(static token => token.Name);
        var before = _tokens;
        var isChanged = !_isCopy || tokens.Count != before.Count;
        foreach (var token in before.Where(token => tokens.GetValueOrDefault(token.Name)?.IsSameAs(token) != true))
        {
            isChanged = true;
            _uses.Forget(token.Name);
        }

        if (isChanged)
        {
            _tokens = [.. tokens.Values];
            _isCopy = true;
            PublishUnsynchronized();
        }

        foreach (var use in values.Where(static one => one is { Value: not null, Touched: not null }))
        {
            _uses.Merge(use.Key, use.Touched!.Value);
        }

        return isChanged;
    }

    /// <inheritdoc/>
    int ISharedValues<StoredToken>.OnUsed()
    {
        // As after a change of this node's own: a new token may list names more specifically than those who have them now.
        var ended = _sessions.SettleAll();
        ProxyEntryLog.TokensRead(_logger, All.Count, _store.Folder, ended);
        return ended;
    }

    /// <summary>Reports to the cluster when tokens were used at this node, once a minute.</summary>
    private async Task ReportUsesAsync(SharedCopy shared, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses)
    {
        try
        {
            await shared.TouchAsync(uses, CancellationToken.None).ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            // The look says what is wrong, and the next minute reports these too.
        }
        catch (Exception exception)
        {
            ProxyEntryLog.TokenUsesNotKept(_logger, _store.Folder, exception.Message);
        }
    }
}
