using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Locating;

/// <summary>Where names of other nodes are: from the cache, or from the database, asked once for any number of requests.</summary>
internal sealed class SessionLocator : ISessionLocator
{
    /// <summary>How many names the database is asked for in a second.</summary>
    public const int MissesPerSecond = 200;

    /// <summary>How many questions are at the database at once.</summary>
    public const int MostAsked = 2;

    /// <summary>Of how many names a place may be forgotten, of which others stay.</summary>
    private const int MostAgain = 1000;

    /// <summary>How long a question waits for its turn.</summary>
    private static readonly TimeSpan _turn = TimeSpan.FromSeconds(1);

    private readonly ConcurrentDictionary<string, long> _again = new(StringComparer.Ordinal);

    /// <summary>Names that were found at this node alone, for as long as others count as unknown.</summary>
    private readonly ConcurrentDictionary<string, (NodePlaces Places, long Since)> _here = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, Question> _asking = new(StringComparer.Ordinal);
    private readonly LocationCache _cache;
    private readonly MissBudget _budget;
    private readonly CallLane _questions;
    private readonly IClusterStore _store;
    private readonly NodeState _node;
    private readonly ClusterMetrics _metrics;
    private readonly TimeProvider _timeProvider;

    public SessionLocator(IClusterStore store, NodeState node, ClusterMetrics metrics, TimeProvider timeProvider)
    {
        _cache = new LocationCache(timeProvider);
        _budget = new MissBudget(MissesPerSecond, timeProvider);
        _questions = new CallLane(MostAsked, _turn, timeProvider);
        _store = store;
        _node = node;
        _metrics = metrics;
        _timeProvider = timeProvider;
        metrics.Observe(() => node.LeaseAge.TotalSeconds, () => node.Ready is not null, () => _cache.Count);
    }

    /// <summary>Whether the database may have been away a moment ago: then other nodes may not have their leases again yet.</summary>
    private bool OthersMayComeBack => _cache.WasJustCleared || _node.ReadyFor < LocationCache.DoubtedFor;

    /// <inheritdoc/>
    public bool TryLocate(ReadOnlySpan<char> name, out NodePlaces places)
    {
        if (!_cache.TryGet(name, out places!))
        {
            return false;
        }

        if (!_again.IsEmpty)
        {
            AskAgain(name);
        }

        return true;
    }

    /// <inheritdoc/>
    public bool IsUnknown(ReadOnlySpan<char> name) => _cache.WasUnknown(name);

    /// <inheritdoc/>
    public ValueTask<LocatedName> LocateAsync(string name, CancellationToken cancellationToken)
    {
        if (_cache.TryGet(name, out var known))
        {
            return new ValueTask<LocatedName>(new LocatedName(known));
        }

        if (_cache.IsUnknown(name, out var awaitedFor))
        {
            return new ValueTask<LocatedName>(new LocatedName(null, awaitedFor));
        }

        if (_here.TryGetValue(name, out var here) && _timeProvider.GetElapsedTime(here.Since) < LocationCache.UnknownFor)
        {
            return new ValueTask<LocatedName>(new LocatedName(here.Places));
        }

        if (_node.Ready is null)
        {
            _metrics.Missed("unavailable");
            return new ValueTask<LocatedName>(Guess(name));
        }

        // The first of them asks; all wait for the same answer, each for as long as it likes.
        return new ValueTask<LocatedName>(Ask(name).WaitAsync(cancellationToken));
    }

    /// <inheritdoc/>
    public async ValueTask<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken)
    {
        try
        {
            return await _store.FindOwnerAsync(name, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException)
        {
            return null;
        }
    }

    /// <inheritdoc/>
    public void Forget(string name, long epoch)
    {
        NodePlaces? lost = null;
        _cache.Change(name, places =>
        {
            var rest = places.Without(place => place.Node.Epoch <= epoch && IsAt(place, places, epoch));
            lost = rest is null ? places : null;
            if (places.All.Count > 1)
            {
                Mark(name);
            }

            return rest;
        });
        if (lost is not null)
        {
            _cache.Doubt(name, lost);
        }

        // A node is forgotten as a whole: the number is its highest one.
        static bool IsAt(NodePlace place, NodePlaces places, long epoch) =>
            places.Group.Length == 0
            || places.All.Any(other => other.Node.Epoch == epoch && other.Node.NodeId == place.Node.NodeId);
    }

    /// <summary>The database says that a registration was made or changed.</summary>
    public void Hear(NameNotice notice)
    {
        var isHere = notice.Node == _node.Facts.Node;
        if (_asking.TryGetValue(notice.Name, out var question))
        {
            question.IsOvertaken = true;
        }

        _here.TryRemove(notice.Name, out _);
        if (notice.State != StoredState.Left)
        {
            _cache.ForgetUnknown(notice.Name);
        }

        if (notice.Share is null)
        {
            var place = new NodePlace(new NodeLocation(notice.Node, notice.LinkAddress, notice.Epoch));
            NodePlaces? Apply(NodePlaces places) =>
                notice.State == StoredState.Left || isHere ? (places.Newest <= notice.Epoch ? null : places)
                : notice.LinkAddress.Length == 0 || places.Newest >= notice.Epoch ? places
                : new NodePlaces("", [place]);
            _cache.ChangeDoubted(notice.Name, Apply);
            _cache.Change(notice.Name, Apply);
            return;
        }

        var (group, member) = (Convert.ToHexStringLower(notice.Share.Group), Convert.ToHexStringLower(notice.Share.Member));
        _cache.ChangeDoubted(notice.Name, places => Change(places, notice, group, member, isHere));
        _cache.Change(notice.Name, places => Change(places, notice, group, member, isHere));
    }

    /// <summary>Changes may have been missed.</summary>
    public void Clear()
    {
        foreach (var (_, question) in _asking)
        {
            question.IsOvertaken = true;
        }

        _cache.Clear();
    }

    private static NodePlaces? Change(NodePlaces places, NameNotice notice, string group, string member, bool isHere)
    {
        if (places.Group != group)
        {
            // All of the older ones are over.
            return places.Newest >= notice.Epoch || notice.State == StoredState.Left ? places
                : isHere || notice.LinkAddress.Length == 0 ? null
                : new NodePlaces(group, [PlaceOf(notice, member, notice.LinkAddress)]);
        }

        var present = places.All.FirstOrDefault(place => place.Member == member);
        return present is null
            ? notice.State == StoredState.Left || isHere || notice.LinkAddress.Length == 0
                ? places
                : places.With(PlaceOf(notice, member, notice.LinkAddress))
            : present.Node.Epoch > notice.Epoch ? places
            : notice.State == StoredState.Left || isHere ? places.Without(place => place == present)
            : places.With(PlaceOf(notice, member, notice.LinkAddress.Length > 0 ? notice.LinkAddress : present.Node.LinkAddress));
    }

    private static NodePlace PlaceOf(NameNotice notice, string member, string address) => new(
        new NodeLocation(notice.Node, address, notice.Epoch), member, notice.Share!.IsHealthy,
        notice.State == StoredState.HandingOver, notice.Weight);

    /// <summary>Some place of a name was forgotten a second ago and may be good again: asks without a request that waits.</summary>
    private void AskAgain(ReadOnlySpan<char> name)
    {
        if (_again.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(name, out var key, out var since)
            && _timeProvider.GetElapsedTime(since) > LocationCache.UnknownFor
            && _node.Ready is not null
            && _again.TryRemove(key, out _))
        {
            _ = Ask(key);
        }
    }

    private void Mark(string name)
    {
        if (_again.Count >= MostAgain)
        {
            // Names that no request is for any more would fill it. What goes is asked for as a whole: no place of it stays forgotten.
            foreach (var (other, _) in _again)
            {
                if (_again.TryRemove(other, out _) && other != name)
                {
                    _cache.Change(other, static _ => null);
                    break;
                }
            }
        }

        _again.TryAdd(name, _timeProvider.GetTimestamp());
    }

    private NodePlaces KeepHere(string name, NodePlaces found)
    {
        var places = new NodePlaces(found.Group, found.All) { IsHere = true };
        if (_here.Count >= MostAgain)
        {
            _here.Clear();
        }

        _here[name] = (places, _timeProvider.GetTimestamp());
        return places;
    }

    /// <summary>Where there is no answer, the last place that was heard of.</summary>
    private LocatedName Guess(string name) => _cache.Doubted(name) is { } places ? new LocatedName(places) : LocatedName.Unanswered;

    private Task<LocatedName> Ask(string name) => _asking.GetOrAdd(
        name, static (name, locator) => new Question(question => locator.AskAsync(name, question)), this).Answer;

    private async Task<LocatedName> AskAsync(string name, Question question)
    {
        var hasTurn = false;
        try
        {
            if (!_budget.TryTake() || !(hasTurn = await _questions.TryEnterAsync(CancellationToken.None).ConfigureAwait(false)))
            {
                _metrics.Missed("limited");
                return Guess(name);
            }

            var located = await _store.LocateAsync(name, CancellationToken.None).ConfigureAwait(false);
            if (located.Places is not { } found)
            {
                _metrics.Missed("unknown");
                if (OthersMayComeBack && _cache.Doubted(name) is { } before)
                {
                    // That node decides: it may have the session, and not its lease yet.
                    return new LocatedName(before);
                }

                _cache.SetUnknown(name, located.AwaitedFor);
                if (question.IsOvertaken)
                {
                    _cache.ForgetUnknown(name);
                }

                return located;
            }

            if (found.Without(place => place.Node.NodeId == _node.Facts.Node) is not { } others)
            {
                // Its session has just registered, or has just left: the node's own directory shows which, in a moment.
                _metrics.Missed("unknown");
                var here = KeepHere(name, found);
                if (question.IsOvertaken)
                {
                    _here.TryRemove(name, out _);
                }

                return new LocatedName(here);
            }

            _node.See(others.Newest);
            _metrics.Missed("found");
            _cache.Set(name, others);
            if (question.IsOvertaken)
            {
                _cache.Change(name, present => present == others ? null : present);
                if (OthersMayComeBack)
                {
                    _cache.Doubt(name, others);
                }
            }

            return new LocatedName(others);
        }
        catch (StoreUnavailableException)
        {
            _metrics.Missed("unavailable");
            return Guess(name);
        }
        finally
        {
            if (hasTurn)
            {
                _questions.Leave();
            }

            _asking.TryRemove(name, out _);
        }
    }

    /// <summary>
    /// A question about a name to the database. Its answer may be older than what is heard while it is under way: then it is for those who
    /// wait for it, and is not kept. What is kept is kept before <see cref="IsOvertaken"/> is read, and is taken back where it is set.
    /// </summary>
    private sealed class Question
    {
        private readonly Lazy<Task<LocatedName>> _answer;
        private int _isOvertaken;

        public Question(Func<Question, Task<LocatedName>> ask) => _answer = new Lazy<Task<LocatedName>>(() => ask(this));

        /// <summary>The answer, which is asked for once.</summary>
        public Task<LocatedName> Answer => _answer.Value;

        /// <summary>Something was heard of the name since.</summary>
        public bool IsOvertaken
        {
            get => Interlocked.CompareExchange(ref _isOvertaken, 0, 0) != 0;
            set => Interlocked.Exchange(ref _isOvertaken, value ? 1 : 0);
        }
    }
}
