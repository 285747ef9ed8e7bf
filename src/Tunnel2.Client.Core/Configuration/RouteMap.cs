using System.Text;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Finds the route of a request's path: the longest one that is the path, or is above it on whole segments. A path that services may read
/// in different ways leads to a service only where all readings lead to the same one. Immutable.
/// </summary>
internal sealed class RouteMap
{
    /// <summary>No route is for the path: it goes to the tunnel's own service.</summary>
    public const int None = -1;

    /// <summary>It depends on who reads the path where it leads to, or it is too long to be read.</summary>
    public const int Unclear = -2;

    private readonly (byte[] Prefix, int Route, bool IsStripped)[] _prefixes;

    /// <param name="routes">The routes; what is found is a place in this list.</param>
    public RouteMap(IReadOnlyList<ServiceRoute> routes) => _prefixes =
    [
        .. routes.Select(static (route, index) => (Encoding.ASCII.GetBytes(route.Path), index, route.StripsPrefix))
            .OrderByDescending(static entry => entry.Item1.Length),
    ];

    /// <summary>Finds the route.</summary>
    /// <param name="target">The target of a request, with its query.</param>
    /// <param name="readings">For the readings of the path; its user's alone.</param>
    /// <returns>A place in the list of routes, or one of the constants.</returns>
    public int Find(ReadOnlySpan<byte> target, RequestPath readings)
    {
        var query = target.IndexOf((byte)'?');
        var path = query < 0 ? target : target[..query];
        if (path.IsEmpty || path[0] != (byte)'/')
        {
            return path.SequenceEqual("*"u8) ? None : Unclear;
        }

        var found = FindRead(path, readings);
        if (path.IndexOf((byte)'#') is >= 0 and var fragment && fragment > 0 && FindRead(path[..fragment], readings) != found)
        {
            // No visitor sends a fragment, but a service may cut at it.
            found = Unclear;
        }

        if (found >= 0 && !CanBeStripped(path, found, readings))
        {
            found = Unclear;
        }

        readings.Release();
        return found;
    }

    private int FindRead(ReadOnlySpan<byte> path, RequestPath readings)
    {
        readings.Read(path);
        if (readings.IsTooLong)
        {
            return Unclear;
        }

        var found = FindPlain(readings[0]);
        for (var i = 1; i < readings.Count; i++)
        {
            if (FindPlain(readings[i]) != found)
            {
                return Unclear;
            }
        }

        return found;
    }

    private int FindPlain(ReadOnlySpan<byte> path)
    {
        foreach (var (prefix, route, _) in _prefixes)
        {
            if (path.StartsWith(prefix) && (path.Length == prefix.Length || path[prefix.Length] == (byte)'/'))
            {
                return route;
            }
        }

        return None;
    }

    /// <summary>
    /// What is taken off a path has to be there letter by letter, and what is left must not begin with a host: the service would read
    /// another path than the server's policies judged.
    /// </summary>
    private bool CanBeStripped(ReadOnlySpan<byte> path, int found, RequestPath readings)
    {
        foreach (var (prefix, route, isStripped) in _prefixes)
        {
            if (route == found && isStripped)
            {
                return path.StartsWith(prefix)
                    && (path.Length == prefix.Length || path[prefix.Length] == (byte)'/')
                    && !readings.BeginsWithHost(path[prefix.Length..]);
            }
        }

        return true;
    }
}
