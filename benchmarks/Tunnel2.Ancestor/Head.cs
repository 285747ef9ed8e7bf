namespace Tunnel2.Ancestor;

/// <summary>The head of a request or a response, which goes over the uplink as JSON.</summary>
/// <param name="Method">The method; empty in a response.</param>
/// <param name="Target">Path and query; empty in a response.</param>
/// <param name="Status">The status; 0 in a request.</param>
/// <param name="Headers">Names and values, one entry for each value.</param>
internal sealed record Head(string Method, string Target, int Status, IReadOnlyList<KeyValuePair<string, string>> Headers)
{
    /// <summary>Whether a header is about one connection and stays there.</summary>
    public static bool IsOfConnection(string name) =>
        name.Equals("Connection", StringComparison.OrdinalIgnoreCase)
            || name.Equals("Keep-Alive", StringComparison.OrdinalIgnoreCase)
            || name.Equals("Transfer-Encoding", StringComparison.OrdinalIgnoreCase)
            || name.Equals("Host", StringComparison.OrdinalIgnoreCase);
}
