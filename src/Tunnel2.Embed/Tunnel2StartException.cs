namespace Tunnel2.Embed;

/// <summary>
/// The tunnel could not be opened, and the host was not to start without it (<see cref="Tunnel2TunnelOptions.StartRequiresTunnel"/>).
/// </summary>
public sealed class Tunnel2StartException : IOException
{
    internal Tunnel2StartException(string message)
        : base(message)
    {
    }
}
