namespace Tunnel2.TestBackend.Hosting;

/// <summary>What happened to the requests for one path.</summary>
internal sealed class PathSignals(string path)
{
    public AsyncCounter Arrived { get; } = new($"requests arrived for {path}");

    public AsyncCounter Completed { get; } = new($"requests ended for {path}");

    public AsyncCounter AbortedByCaller { get; } = new($"requests aborted by their caller for {path}");
}
