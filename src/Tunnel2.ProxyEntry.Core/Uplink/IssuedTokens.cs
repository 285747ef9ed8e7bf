using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// The tokens that the server keeps, beside those of the settings: made and revoked while it runs, with effect at once. The reload loop has
/// it look for tokens that have expired, for changes of the folder by another process, and write down when tokens were used. Thread-safe.
/// </summary>
internal sealed partial class IssuedTokens : IReloadable, IDisposable
{
    /// <summary>How often it is written down at most when tokens were used.</summary>
    public static readonly TimeSpan UsesPeriod = TimeSpan.FromMinutes(1);

    /// <summary>
    /// How many looks after a change read the folder again: the time of a folder is coarse, and two changes can have the same one.
    /// </summary>
    private const int LooksAfterChange = 2;

    private readonly Lock _gate = new(); // Files are written with it held; only administrators and the reload loop wait for it.
    private readonly TokenStore _store;
    private readonly AgentRegistry _agents;
    private readonly SessionRevocation _sessions;
    private readonly TokenUses _uses;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly HashSet<string> _expired = new(StringComparer.Ordinal);
    private readonly HashSet<string> _doubted = new(StringComparer.Ordinal);
    private IReadOnlyList<StoredToken> _tokens = [];
    private string _reported = "";
    private string? _stamp;
    private int _looksLeft;
    private long _usesWritten;

    public IssuedTokens(
        ProxyEntrySettings settings,
        AgentRegistry agents,
        SessionRevocation sessions,
        TokenUses uses,
        TimeProvider time,
        ILogger<IssuedTokens> logger,
        ISharedDocuments? shared = null)
    {
        _store = new TokenStore(settings.StateFolder);
        _agents = agents;
        _sessions = sessions;
        _uses = uses;
        _time = time;
        _logger = logger;
        _usesWritten = time.GetTimestamp();
        _usesReported = _usesWritten;
        _shared = shared is null ? null : new SharedCopy(
            shared, SharedKind, TokenStore.MaxTokens, settings.StateFolder,
            new SharedValues<StoredToken>(SharedKind, TokenStore.MaxTokens, _store.Folder, _gate, this, logger), logger);
    }

    /// <summary>All of them.</summary>
    public IReadOnlyList<StoredToken> All
    {
        get
        {
            lock (_gate)
            {
                return _tokens;
            }
        }
    }

    /// <summary>Reads what is kept. Once, before the first agent.</summary>
    public void Load()
    {
        lock (_gate)
        {
            _stamp = _store.Stamp();
            _looksLeft = LooksAfterChange;
            if (ReadUnsynchronized())
            {
                _uses.Restore(_store.LoadUses());
                PublishUnsynchronized();
                ProxyEntryLog.TokensRead(_logger, _tokens.Count, _store.Folder, 0);
            }
        }
    }

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        bool isRead;
        bool isChanged;
        int count;
        lock (_gate)
        {
            isRead = !_isCopy && HasFolderChangedUnsynchronized() && ReadUnsynchronized();
            isChanged = isRead | HasOneExpiredUnsynchronized();
            if (isChanged)
            {
                PublishUnsynchronized();
            }

            count = _tokens.Count;
        }

        if (isChanged)
        {
            var ended = _sessions.SettleAll();
            if (isRead)
            {
                ProxyEntryLog.TokensRead(_logger, count, _store.Folder, ended);
            }
        }

        if (_time.GetElapsedTime(Volatile.Read(ref _usesWritten)) >= UsesPeriod)
        {
            WriteUses();
        }

        if (_shared is not null && _time.GetElapsedTime(_usesReported) >= UsesPeriod)
        {
            _usesReported = _time.GetTimestamp();
            var uses = All.Select(token => (token.Name, Moment: _uses.Find(token.Name)))
                .Where(static use => use.Moment is not null)
                .Select(static use => KeyValuePair.Create(use.Name, use.Moment!.Value));
            _ = ReportUsesAsync(_shared, [.. uses]);
        }
    }

    /// <summary>Writes down the last uses.</summary>
    public void Dispose()
    {
        WriteUses();
        _shared?.Dispose();
    }

    /// <summary>Keeps a new token, which agents may use at once.</summary>
    /// <exception cref="IOException">It cannot be written; then it is not in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there; then it is not in force.</exception>
    private TokenOutcome AddAlone(StoredToken token)
    {
        lock (_gate)
        {
            if (_tokens.Any(other => other.Name == token.Name))
            {
                return TokenOutcome.NameTaken;
            }

            if (_tokens.Count >= TokenStore.MaxTokens)
            {
                return TokenOutcome.TooMany;
            }

            _store.Save(token);
            _tokens = [.. _tokens, token];
            PublishUnsynchronized();
        }

        // It may list names more specifically than those who have them now.
        _sessions.SettleAll();
        return TokenOutcome.Done;
    }

    /// <summary>Revokes a token, and ends the sessions that it let in.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="ended">How many sessions were ended.</param>
    /// <returns>The token; null where there is none of this name.</returns>
    /// <exception cref="IOException">It cannot be removed; then it stays in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it; then it stays in force.</exception>
    private StoredToken? RevokeAlone(string name, out int ended)
    {
        ended = 0;
        StoredToken? token;
        lock (_gate)
        {
            token = _tokens.FirstOrDefault(other => other.Name == name);
            if (token is null)
            {
                return null;
            }

            _store.Delete(name);
            _tokens = [.. _tokens.Where(other => other != token)];
            _uses.Forget(name);
            PublishUnsynchronized();
        }

        ended = _sessions.SettleAll();
        return token;
    }

    private bool HasFolderChangedUnsynchronized()
    {
        var stamp = _store.Stamp();
        if (stamp != _stamp)
        {
            _stamp = stamp;
            _looksLeft = LooksAfterChange;
            return true;
        }

        return _looksLeft > 0 && _looksLeft-- > 0;
    }

    /// <summary>Reads the folder; where that fails, what was read before stays in force, and the next look tries again.</summary>
    /// <returns>Whether there are other tokens than before.</returns>
    private bool ReadUnsynchronized()
    {
        var refused = new List<(string Path, string Reason)>();
        IReadOnlyList<StoredToken>? tokens = null;
        try
        {
            tokens = _store.Load(refused);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            refused.Add((_store.Folder, exception.Message));
            _looksLeft = LooksAfterChange;
        }

        ReportUnsynchronized(refused);
        if (tokens is null)
        {
            return false;
        }

        tokens = WithDoubtedUnsynchronized(tokens, refused);
        if (IsSame(tokens, _tokens))
        {
            return false;
        }

        foreach (var gone in _tokens.ExceptBy(tokens.Select(static token => token.Name), static token => token.Name))
        {
            _uses.Forget(gone.Name);
        }

        _tokens = tokens;
        return true;
    }

    /// <summary>
    /// A file that cannot be read may be half written: until the next look its token is what it was. One that is broken for longer counts
    /// no more.
    /// </summary>
    private IReadOnlyList<StoredToken> WithDoubtedUnsynchronized(
        IReadOnlyList<StoredToken> tokens, List<(string Path, string Reason)> refused)
    {
        var names = refused.Select(static one => Path.GetFileNameWithoutExtension(one.Path)).ToHashSet(StringComparer.Ordinal);
        var kept = _tokens.Where(token => names.Contains(token.Name) && !_doubted.Contains(token.Name)).ToList();
        _doubted.IntersectWith(names);
        if (kept.Count == 0)
        {
            return tokens;
        }

        _doubted.UnionWith(kept.Select(static token => token.Name));
        _looksLeft = LooksAfterChange;
        return [.. tokens.Concat(kept).OrderBy(static token => token.Name, StringComparer.Ordinal)];
    }

    private static bool IsSame(IReadOnlyList<StoredToken> tokens, IReadOnlyList<StoredToken> others) =>
        tokens.Count == others.Count && tokens.All(token => others.Any(token.IsSameAs));

    /// <summary>Each mistake once, until it is another one.</summary>
    private void ReportUnsynchronized(List<(string Path, string Reason)> refused)
    {
        var words = string.Join('\n', refused);
        if (words == _reported)
        {
            return;
        }

        _reported = words;
        foreach (var (path, reason) in refused)
        {
            ProxyEntryLog.TokenRefused(_logger, path, reason);
        }
    }

    private bool HasOneExpiredUnsynchronized()
    {
        var now = _time.GetUtcNow();
        return _tokens.Any(token => token.IsExpired(now) != _expired.Contains(token.Name));
    }

    private void PublishUnsynchronized()
    {
        var now = _time.GetUtcNow();
        var before = _expired.ToHashSet(StringComparer.Ordinal);
        _expired.Clear();
        foreach (var token in _tokens.Where(token => token.IsExpired(now)))
        {
            _expired.Add(token.Name);
            if (!before.Contains(token.Name))
            {
                ProxyEntryLog.TokenExpired(_logger, token.Name, token.Agent);
            }
        }

        _agents.ReplaceIssued([.. _tokens.Select(token => token.ToAgent(now))]);
    }

    private void WriteUses()
    {
        lock (_gate)
        {
            Volatile.Write(ref _usesWritten, _time.GetTimestamp());
            if (_uses.TakeNew() is not { } uses)
            {
                return;
            }

            try
            {
                var names = _tokens.Select(static token => token.Name).ToHashSet(StringComparer.Ordinal);
                _store.SaveUses(uses.Where(use => names.Contains(use.Key)));
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                _uses.PutBack();
                ProxyEntryLog.TokenUsesNotKept(_logger, _store.Folder, exception.Message);
            }
        }
    }
}
