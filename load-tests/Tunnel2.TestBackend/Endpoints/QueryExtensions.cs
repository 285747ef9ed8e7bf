using System.Globalization;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>Reads numbers and switches from the query.</summary>
internal static class QueryExtensions
{
    /// <summary>
    /// The number called <paramref name="name"/>, or <paramref name="fallback"/> if it is absent or no whole number from 0 on.
    /// </summary>
    public static long GetNumber(this HttpRequest request, string name, long fallback) =>
        long.TryParse(request.Query[name].ToString(), NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number
            : fallback;

    /// <summary>Whether the switch called <paramref name="name"/> is 1 or true.</summary>
    public static bool IsOn(this HttpRequest request, string name) => request.Query[name].ToString() is "1" or "true";

    /// <summary>The query's pairs in their order, decoded, duplicates kept.</summary>
    public static IEnumerable<KeyValuePair<string, string>> QueryPairs(this HttpRequest request)
    {
        foreach (var pair in new Microsoft.AspNetCore.WebUtilities.QueryStringEnumerable(request.QueryString.Value))
        {
            yield return new(pair.DecodeName().ToString(), pair.DecodeValue().ToString());
        }
    }
}
