namespace Tunnel2.IdleConnections;

/// <summary>A connection that does nothing until it is asked whether it lives.</summary>
internal interface IIdleConnection : IDisposable
{
    Task OpenAsync(CancellationToken cancellationToken);

    /// <exception cref="IOException">It does not.</exception>
    Task CheckAsync(CancellationToken cancellationToken);
}
