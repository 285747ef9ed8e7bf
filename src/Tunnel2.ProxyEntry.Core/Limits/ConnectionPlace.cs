namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// A connection's place within a <see cref="ConnectionLimit"/>, given back once when the connection's descriptor is closed.
/// </summary>
/// <param name="Address">What its address is counted by.</param>
/// <param name="IsCounted">Whether it counts for its address, too.</param>
internal readonly record struct ConnectionPlace(AddressKey Address, bool IsCounted);
