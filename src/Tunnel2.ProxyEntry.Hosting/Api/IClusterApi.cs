namespace Tunnel2.ProxyEntry.Api;

/// <summary>Answers calls with what all nodes of a cluster have. Thread-safe.</summary>
internal interface IClusterApi
{
    /// <summary>Whether this server is a node of a cluster.</summary>
    bool IsOn { get; }

    /// <summary>Answers a call that was allowed.</summary>
    /// <param name="http">The request.</param>
    /// <param name="operation">What it asks for.</param>
    /// <param name="path">The segments of its path.</param>
    /// <param name="here">Answers with what this node has.</param>
    Task HandleAsync(HttpContext http, ApiOperation operation, string[] path, Func<HttpContext, Task> here);
}
