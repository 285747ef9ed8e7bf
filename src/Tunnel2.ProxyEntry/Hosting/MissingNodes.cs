using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Says which nodes of a cluster a list lacks. Stateless.</summary>
internal static class MissingNodes
{
    /// <summary>Writes a line for each of them, before the list.</summary>
    public static async Task WriteAsync(TextWriter output, IReadOnlyList<NodeStateInfo>? nodes)
    {
        foreach (var node in (nodes ?? []).Where(static node => node.State != "up"))
        {
            await output.WriteLineAsync($"without node {node.Node} ({node.State}): {node.Problem}").ConfigureAwait(false);
        }
    }
}
