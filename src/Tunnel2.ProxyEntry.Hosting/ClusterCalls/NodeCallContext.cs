using System.Net;
using Tunnel2.ProxyEntry.Admin;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>The context of a call that came to another node, or of this node's own part of a call to all. Stateless.</summary>
internal static class NodeCallContext
{
    /// <summary>Makes it.</summary>
    /// <param name="method">The method.</param>
    /// <param name="target">Path and query, with their percent-codes.</param>
    /// <param name="caller">Who has allowed it.</param>
    /// <param name="address">The address of who asked there.</param>
    /// <param name="output">Takes the answer's body.</param>
    /// <param name="left">Ends it.</param>
    /// <returns>Null: the target is none.</returns>
    public static DefaultHttpContext? TryMake(
        string method, string target, NodeCaller caller, IPAddress? address, Stream output, CancellationToken left)
    {
        if (!target.StartsWith('/'))
        {
            return null;
        }

        var query = target.IndexOf('?', StringComparison.Ordinal);
        var http = new DefaultHttpContext();
        http.Request.Method = method;
        http.Request.Scheme = "https";
        http.Request.Path = PathString.FromUriComponent(query < 0 ? target : target[..query]);
        http.Request.QueryString = query < 0 ? QueryString.Empty : new QueryString(target[query..]);
        http.Connection.RemoteIpAddress = address;
        http.Response.Body = output;
        http.RequestAborted = left;
        http.Features.Set(caller);
        return http;
    }
}
