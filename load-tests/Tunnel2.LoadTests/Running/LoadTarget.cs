using System.Net;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Running;

/// <summary>Where requests go: a tunnel that was started for the run, or one that runs already.</summary>
internal abstract class LoadTarget : IAsyncDisposable
{
    /// <summary>Where connections go.</summary>
    public abstract IPEndPoint EndPoint { get; }

    /// <summary>The Host of each tunnel.</summary>
    public abstract IReadOnlyList<string> Hosts { get; }

    /// <summary>The programs whose processor time and memory are known, by what they are.</summary>
    public virtual IReadOnlyList<(string Name, ProcessRunner Process)> Processes => [];

    /// <summary>The connections between agent and ProxyEntry that were cut so far.</summary>
    public virtual int Cuts => 0;

    /// <summary>Starts to cut them.</summary>
    public virtual void BeginCutting(TimeSpan every) =>
        throw new LoadFailedException("Only a tunnel that this program has started can be cut: leave out --url.");

    /// <inheritdoc/>
    public virtual ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
