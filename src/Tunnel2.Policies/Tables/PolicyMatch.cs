using System.Collections.Immutable;
using System.Net;
using System.Text;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Policies.Tables;

/// <summary>The conditions of a row: all that it has must hold, and of each list one entry. Immutable.</summary>
internal sealed record PolicyMatch
{
    /// <summary>The country of a visitor whose country is not known, as ISO 3166 leaves it to users.</summary>
    public const string UnknownCountry = "XX";

    private const string Get = "GET";
    private const string Head = "HEAD";

    /// <summary>The paths; empty: any.</summary>
    public ImmutableArray<PathPattern> Paths { get; init; } = [];

    /// <summary>The methods; empty: any. GET includes HEAD.</summary>
    public ImmutableArray<string> Methods { get; init; } = [];

    /// <summary>What is asked of fields; all have to hold.</summary>
    public ImmutableArray<HeaderTest> Headers { get; init; } = [];

    /// <summary>The visitor's networks; empty: any.</summary>
    public ImmutableArray<IPNetwork> Networks { get; init; } = [];

    /// <summary>The visitor's countries; empty: any.</summary>
    public ImmutableArray<string> Countries { get; init; } = [];

    /// <summary>The first condition of a row that does not hold; null: the row matches.</summary>
    /// <param name="request">The request.</param>
    /// <param name="isStrict">
    /// Whether a doubt speaks against the match: so for rows that let a request pass. For all others a doubt speaks for it.
    /// </param>
    public PolicyCondition? FindObstacle(PolicyRequest request, bool isStrict) =>
        !MatchesMethod(request, isStrict) ? PolicyCondition.Method
        : !MatchesPath(request, isStrict) ? PolicyCondition.Path
        : !MatchesAddress(request, isStrict) ? PolicyCondition.Address
        : !MatchesCountry(request, isStrict) ? PolicyCondition.Country
        : !MatchesHeaders(request, isStrict) ? PolicyCondition.Header
        : null;

    /// <summary>Whether each request that the other matches is matched by this one too. It says no where that is not plain.</summary>
    public bool Covers(PolicyMatch other) =>
        (Paths.IsEmpty || (!other.Paths.IsEmpty && other.Paths.All(path => Paths.Any(own => own.Covers(path)))))
        && (Methods.IsEmpty || (!other.Methods.IsEmpty && other.Methods.All(HasMethod)))
        && (Networks.IsEmpty || (!other.Networks.IsEmpty && other.Networks.All(network => Networks.Any(own => Covers(own, network)))))
        && (Countries.IsEmpty || (!other.Countries.IsEmpty && other.Countries.All(Countries.Contains)))
        && Headers.All(other.Headers.Contains);

    private static bool Covers(IPNetwork own, IPNetwork other) =>
        own.BaseAddress.AddressFamily == other.BaseAddress.AddressFamily
        && own.PrefixLength <= other.PrefixLength
        && own.Contains(other.BaseAddress);

    private bool HasMethod(string method) => Methods.Contains(method) || (method == Head && Methods.Contains(Get));

    private bool MatchesMethod(PolicyRequest request, bool isStrict)
    {
        if (Methods.IsEmpty)
        {
            return true;
        }

        foreach (var method in Methods)
        {
            if (IsMethod(request.Method, method, isStrict) || (method == Get && IsMethod(request.Method, Head, isStrict)))
            {
                return true;
            }
        }

        return false;
    }

    private static bool IsMethod(ReadOnlySpan<byte> written, string method, bool isStrict) =>
        isStrict ? Ascii.Equals(written, method) : Ascii.EqualsIgnoreCase(written, method);

    private bool MatchesPath(PolicyRequest request, bool isStrict)
    {
        if (Paths.IsEmpty)
        {
            return true;
        }

        var path = request.Path;
        if (!isStrict)
        {
            foreach (var pattern in Paths)
            {
                if (pattern.MatchesAny(path))
                {
                    return true;
                }
            }

            return false;
        }

        for (var i = 0; i < path.Count; i++)
        {
            var isMatched = false;
            foreach (var pattern in Paths)
            {
                isMatched |= pattern.Matches(path[i]);
            }

            if (!isMatched)
            {
                return false;
            }
        }

        return path.Count > 0;
    }

    private bool MatchesAddress(PolicyRequest request, bool isStrict)
    {
        if (Networks.IsEmpty)
        {
            return true;
        }

        if (request.Address is not { } address)
        {
            return !isStrict;
        }

        address = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        foreach (var network in Networks)
        {
            if (network.Contains(address))
            {
                return true;
            }
        }

        return false;
    }

    private bool MatchesCountry(PolicyRequest request, bool isStrict) =>
        Countries.IsEmpty
        || (request.Country is { } country ? Countries.Contains(country)
            : request.IsCountryInDoubt ? !isStrict
            : Countries.Contains(UnknownCountry));

    private bool MatchesHeaders(PolicyRequest request, bool isStrict)
    {
        foreach (var test in Headers)
        {
            // A doubt never helps the visitor: for a field that must not be there, a lookalike counts where others must be certain.
            var withLookalikes = isStrict == (test.Kind == HeaderTestKind.Absent);
            if (!test.Passes(request.Values(test.Name, withLookalikes), isStrict))
            {
                return false;
            }

            // A lookalike beside the one line that is wanted may be the one that the service takes.
            if (isStrict
                && (test.Kind is HeaderTestKind.Equal or HeaderTestKind.Contains)
                && request.Values(test.Name, withLookalikes: true).Length > 1)
            {
                return false;
            }
        }

        return true;
    }
}

/// <summary>A kind of condition.</summary>
internal enum PolicyCondition
{
    /// <summary>The method.</summary>
    Method = 0,

    /// <summary>The path.</summary>
    Path,

    /// <summary>The visitor's address.</summary>
    Address,

    /// <summary>The visitor's country.</summary>
    Country,

    /// <summary>A field of the request.</summary>
    Header,
}
