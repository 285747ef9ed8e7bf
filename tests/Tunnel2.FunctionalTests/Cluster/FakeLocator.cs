using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>A directory of the cluster that says what the test wants, for one node.</summary>
internal sealed class FakeLocator : ISessionLocator
{
    private readonly ConcurrentDictionary<string, NodePlaces> _known = new();

    /// <summary>Where sessions are in truth. A node learns it by asking.</summary>
    public ConcurrentDictionary<string, NodeLocation> Truth { get; } = new();

    /// <summary>The same for names that have several sessions.</summary>
    public ConcurrentDictionary<string, NodePlaces> Shared { get; } = new();

    /// <summary>Names that no node serves, and for how long their agents are expected back.</summary>
    public ConcurrentDictionary<string, TimeSpan> Awaited { get; } = new();

    /// <summary>Whether questions get no answer.</summary>
    public volatile bool IsSilent;

    /// <summary>Questions to the cluster.</summary>
    public AsyncCounter Asked { get; } = new("questions where a name is");

    /// <summary>Registrations that a node was asked to forget.</summary>
    public AsyncCounter Forgotten { get; } = new("forgotten registrations");

    /// <summary>Has the node know a place without asking, which may be wrong.</summary>
    public void Know(string name, NodeLocation location) => _known[name] = new NodePlaces(location);

    /// <summary>Has the node know places without asking, which may be wrong.</summary>
    public void Know(string name, NodePlaces places) => _known[name] = places;

    public bool TryLocate(ReadOnlySpan<char> name, out NodePlaces places) => _known.TryGetValue(name.ToString(), out places!);

    public bool IsUnknown(ReadOnlySpan<char> name) => false;

    public ValueTask<LocatedName> LocateAsync(string name, CancellationToken cancellationToken)
    {
        Asked.Increment();
        if (IsSilent)
        {
            return new ValueTask<LocatedName>(LocatedName.Unanswered);
        }

        if (Shared.TryGetValue(name, out var places) && places.IsHere)
        {
            return new ValueTask<LocatedName>(new LocatedName(places));
        }

        if (places is not null || Truth.ContainsKey(name))
        {
            return new ValueTask<LocatedName>(new LocatedName(_known[name] = places ?? new NodePlaces(Truth[name])));
        }

        return new ValueTask<LocatedName>(Awaited.TryGetValue(name, out var awaitedFor) ? new LocatedName(null, awaitedFor) : default);
    }

    public ValueTask<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken) => new((byte[]?)null);

    public void Forget(string name, long epoch)
    {
        if (_known.TryGetValue(name, out var known) && known.All.Any(place => place.Node.Epoch == epoch))
        {
            if (known.Without(place => place.Node.Epoch == epoch) is { } left)
            {
                _known[name] = left;
            }
            else
            {
                _known.TryRemove(name, out _);
            }

            Forgotten.Increment();
        }
    }
}
