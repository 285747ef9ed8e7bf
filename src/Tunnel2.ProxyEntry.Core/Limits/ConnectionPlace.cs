namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// A connection's place in a <see cref="ConnectionLimit"/>. It is given back exactly once, when the connection's descriptor is closed.
/// </summary>
/// <param name="Address">The key by which its address is counted.</param>
/// <param name="IsCounted">Whether it also counts for its address.</param>
internal readonly record struct ConnectionPlace(AddressKey Address, bool IsCounted);
