using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;

namespace Tunnel2.ProxyEntry.Uplink;

/// <content>
/// Changes of tokens, and the tokens of a cluster: there the database has them, and the folder is this node's copy, with which it goes on
/// while the database is away.
/// </content>
internal sealed partial class IssuedTokens : ISharedContent
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "tokens";

    private readonly SharedCopy? _shared;
    private readonly Dictionary<string, long> _versions = new(StringComparer.Ordinal);
    private bool _isCopy;
    private long _usesTold;

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
    IReadOnlyList<SharedDocument> ISharedContent.Own()
    {
        lock (_gate)
        {
            return
            [
                .. _tokens.Select(token => new SharedDocument(token.Name, TokenFile.Write(token), Touched: _uses.Find(token.Name))),
            ];
        }
    }

    /// <inheritdoc/>
    int ISharedContent.Apply(IReadOnlyList<SharedDocument> documents)
    {
        int count;
        lock (_gate)
        {
            var isChanged = !_isCopy || !AreVersionsUnsynchronized(documents);
            if (isChanged)
            {
                FollowUnsynchronized(documents);
            }

            foreach (var document in documents)
            {
                if (document.Touched is { } moment && _tokens.Any(token => token.Name == document.Key))
                {
                    _uses.Merge(document.Key, moment);
                }
            }

            if (!isChanged)
            {
                return 0;
            }

            count = _tokens.Count;
        }

        // As after a change of this node's own: a new token may list names more specifically than those who have them now.
        var ended = _sessions.SettleAll();
        ProxyEntryLog.TokensRead(_logger, count, _store.Folder, ended);
        return ended;
    }

    private bool AreVersionsUnsynchronized(IReadOnlyList<SharedDocument> documents) =>
        documents.Count == _versions.Count
        && documents.All(document => _versions.TryGetValue(document.Key, out var version) && version == document.Version);

    private void FollowUnsynchronized(IReadOnlyList<SharedDocument> documents)
    {
        var refused = new List<(string Path, string Reason)>();
        var tokens = new List<StoredToken>();
        foreach (var document in documents)
        {
            var reason = FormattableString.Invariant($"more than {TokenStore.MaxTokens} tokens are not used");
            if (tokens.Count < TokenStore.MaxTokens && TokenFile.Read(document.Value, document.Key, out reason) is { } token)
            {
                tokens.Add(token);
            }
            else
            {
                // A key that no node has written goes into no line of the log.
                var key = StoredToken.IsName(document.Key) ? document.Key : "?";
                refused.Add(($"the cluster's database ({key})", reason));
            }
        }

        TellUnsynchronized(refused);
        var kept = _tokens.ToDictionary(static token => token.Name, static token => TokenFile.Write(token), StringComparer.Ordinal);
        var wanted = tokens.ToDictionary(static token => token.Name, static token => TokenFile.Write(token), StringComparer.Ordinal);
        foreach (var token in _tokens)
        {
            if (!wanted.TryGetValue(token.Name, out var bytes) || !bytes.AsSpan().SequenceEqual(kept[token.Name]))
            {
                _uses.Forget(token.Name);
            }
        }

        CopyUnsynchronized(kept, wanted, tokens);
        _tokens = tokens;
        _isCopy = true;
        _versions.Clear();
        foreach (var document in documents)
        {
            _versions[document.Key] = document.Version;
        }

        PublishUnsynchronized();
    }

    /// <summary>Makes the folder the copy. Where that fails, the tokens are in force all the same, until this process ends.</summary>
    private void CopyUnsynchronized(Dictionary<string, byte[]> kept, Dictionary<string, byte[]> wanted, List<StoredToken> tokens)
    {
        try
        {
            foreach (var name in kept.Keys.Where(name => !wanted.ContainsKey(name)))
            {
                _store.Delete(name);
            }

            foreach (var token in tokens)
            {
                if (!kept.TryGetValue(token.Name, out var bytes) || !bytes.AsSpan().SequenceEqual(wanted[token.Name]))
                {
                    _store.Save(token);
                }
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(_logger, SharedKind, _store.Folder, exception.Message);
        }
    }

    /// <summary>Tells the cluster when tokens were used at this node, once a minute.</summary>
    private async Task TellUsesAsync(SharedCopy shared, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses)
    {
        try
        {
            await shared.TouchAsync(uses, CancellationToken.None).ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            // The look says what is wrong, and the next minute tells these too.
        }
        catch (Exception exception)
        {
            ProxyEntryLog.TokenUsesNotKept(_logger, _store.Folder, exception.Message);
        }
    }
}
