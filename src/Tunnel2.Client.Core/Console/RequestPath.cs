using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Console;

/// <summary>What is shown of a request's target.</summary>
internal static class RequestPath
{
    /// <summary>A target without its query, which may hold secrets, and without what could steer a terminal.</summary>
    public static string Of(string target)
    {
        int query = target.IndexOf('?', StringComparison.Ordinal);
        return PlainText.Clean(query < 0 ? target : target[..query]);
    }
}
